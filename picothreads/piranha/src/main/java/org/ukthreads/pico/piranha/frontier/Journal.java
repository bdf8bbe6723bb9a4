/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An append-only file of checked records; the file is also the queue of the disk frontier.
 *
 *   magic "PIRANHA1"  then records of  int length | int CRC-32 of the payload | payload
 *
 * A record is written by one write call. After kill -9 the kernel still has all whole writes, and
 * at most the last record is torn: open() finds the first record that does not check and cuts
 * the file there. Power failure: only what was synced (sync(), at close and on request) is sure.
 *
 * Rejected: one file per URL or a database. The frontier only appends and scans.
 */
package org.ukthreads.pico.piranha.frontier;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.zip.CRC32;

final class Journal implements Closeable {
    private static final byte[] MAGIC = "PIRANHA1".getBytes(StandardCharsets.US_ASCII);
    private static final int HEADER = 8;
    private static final int MAX_RECORD = 64 << 20;

    private final RandomAccessFile writer;
    private final RandomAccessFile reader;
    private long end;
    private long cursor = MAGIC.length;

    private Journal(File file) throws IOException {
        writer = new RandomAccessFile(file, "rw");
        lock(file);
        reader = new RandomAccessFile(file, "r");
        if (writer.length() < MAGIC.length) {
            writer.setLength(0);
            writer.write(MAGIC);
        } else {
            byte[] magic = new byte[MAGIC.length];
            writer.readFully(magic);
            if (!java.util.Arrays.equals(magic, MAGIC)) {
                throw new IOException(file + " is not a frontier of Piranha");
            }
        }
        end = writer.length();
    }

    static Journal open(File file) throws IOException {
        return new Journal(file);
    }

    private void lock(File file) throws IOException {
        try {
            FileLock lock = writer.getChannel().tryLock();
            if (lock != null) {
                return;     /* held until the process ends or the file is closed */
            }
        } catch (OverlappingFileLockException e) {
            // The same process has it: as bad.
        }
        writer.close();
        throw new IOException(file + " is in use by another crawl");
    }

    void append(byte[] payload) throws IOException {
        if (payload.length > MAX_RECORD) {
            throw new IOException("a record of " + payload.length + " bytes");
        }
        CRC32 crc = new CRC32();
        crc.update(payload);
        ByteBuffer record = ByteBuffer.allocate(HEADER + payload.length);
        record.putInt(payload.length).putInt((int) crc.getValue()).put(payload);
        writer.seek(end);
        writer.write(record.array());
        end += record.capacity();
    }

    boolean atEnd() {
        return cursor == end;
    }

    /** The next record after the cursor; empty at the end of the file. */
    Optional<byte[]> next() throws IOException {
        if (cursor == end) {
            return Optional.empty();
        }
        Optional<byte[]> record = check();
        if (!record.isPresent()) {
            throw new IOException("the journal is damaged at byte " + cursor);
        }
        cursor += HEADER + record.get().length;
        return record;
    }

    /** As next(), but a record that does not check ends the file: it is cut there. */
    Optional<byte[]> recover() throws IOException {
        if (cursor == end) {
            return Optional.empty();
        }
        Optional<byte[]> record = check();
        if (record.isPresent()) {
            cursor += HEADER + record.get().length;
        } else {
            writer.setLength(cursor);
            end = cursor;
        }
        return record;
    }

    void rewind() {
        cursor = MAGIC.length;
    }

    void sync() throws IOException {
        writer.getFD().sync();
    }

    @Override
    public void close() throws IOException {
        sync();
        writer.close();
        reader.close();
    }

    private Optional<byte[]> check() throws IOException {
        if (end - cursor < HEADER) {
            return Optional.empty();
        }
        reader.seek(cursor);
        int length = reader.readInt();
        int sum = reader.readInt();
        if (length < 0 || length > MAX_RECORD || length > end - cursor - HEADER) {
            return Optional.empty();
        }
        byte[] payload = new byte[length];
        reader.readFully(payload);
        CRC32 crc = new CRC32();
        crc.update(payload);
        return (int) crc.getValue() == sum ? Optional.of(payload) : Optional.empty();
    }
}
