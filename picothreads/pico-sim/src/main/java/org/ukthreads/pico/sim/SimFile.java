// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.sim;

import java.io.File;
import java.io.FileFilter;
import java.io.FilenameFilter;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/** Replaces `new File(..)` in a simulated program: a name on its node's disk, with Unix syntax. */
public class SimFile extends File {
	private static final long serialVersionUID = 1;

	public SimFile(String path) {
		super(path);
	}

	public SimFile(String parent, String child) {
		super(parent, child);
	}

	public SimFile(File parent, String child) {
		super(parent, child);
	}

	public SimFile(URI uri) {
		super(uri);
	}

	private Disk.Inode inode() {
		return OpenFiles.disk().find(OpenFiles.path(this));
	}

	@Override
	public boolean exists() {
		return !OpenFiles.on() ? super.exists() : inode() != null;
	}

	@Override
	public boolean isDirectory() {
		if (!OpenFiles.on())
			return super.isDirectory();
		Disk.Inode i = inode();
		return i != null && i.directory;
	}

	@Override
	public boolean isFile() {
		if (!OpenFiles.on())
			return super.isFile();
		Disk.Inode i = inode();
		return i != null && !i.directory;
	}

	@Override
	public boolean canRead() {
		return !OpenFiles.on() ? super.canRead() : exists();
	}

	@Override
	public boolean canWrite() {
		return !OpenFiles.on() ? super.canWrite() : exists();
	}

	@Override
	public long length() {
		if (!OpenFiles.on())
			return super.length();
		Disk.Inode i = inode();
		return i == null ? 0 : i.size;
	}

	@Override
	public long lastModified() {
		if (!OpenFiles.on())
			return super.lastModified();
		Disk.Inode i = inode();
		return i == null ? 0 : i.modified;
	}

	@Override
	public boolean setLastModified(long time) {
		if (!OpenFiles.on())
			return super.setLastModified(time);
		Disk.Inode i = inode();
		if (i != null)
			i.modified = time;
		return i != null;
	}

	@Override
	public boolean createNewFile() throws IOException {
		if (!OpenFiles.on())
			return super.createNewFile();
		if (exists())
			return false;
		OpenFiles.parent(OpenFiles.path(this));
		OpenFiles.disk().create(OpenFiles.path(this), false);
		return true;
	}

	@Override
	public boolean mkdir() {
		if (!OpenFiles.on())
			return super.mkdir();
		File p = getAbsoluteFile().getParentFile();
		if (exists() || p == null || !new SimFile(p.getPath()).isDirectory())
			return false;
		OpenFiles.disk().create(OpenFiles.path(this), true);
		return true;
	}

	@Override
	public boolean mkdirs() {
		if (!OpenFiles.on())
			return super.mkdirs();
		if (exists())
			return false;
		File p = getAbsoluteFile().getParentFile();
		if (p != null)
			new SimFile(p.getPath()).mkdirs();
		return mkdir();
	}

	@Override
	public boolean delete() {
		if (!OpenFiles.on())
			return super.delete();
		String p = OpenFiles.path(this);
		Disk.Inode i = inode();
		if (i == null || i.directory && !OpenFiles.disk().children(p, false).isEmpty())
			return false;
		OpenFiles.disk().delete(p);
		return true;
	}

	@Override
	public void deleteOnExit() {
		if (!OpenFiles.on())
			super.deleteOnExit();
	}

	@Override
	public boolean renameTo(File to) {
		if (!OpenFiles.on())
			return super.renameTo(to);
		if (inode() == null)
			return false;
		OpenFiles.disk().rename(OpenFiles.path(this), OpenFiles.path(to));
		return true;
	}

	@Override
	public String[] list() {
		if (!OpenFiles.on())
			return super.list();
		if (!isDirectory())
			return null;
		Set<String> l = OpenFiles.disk().children(OpenFiles.path(this), false);
		List<String> names = new ArrayList<>();
		for (String s : l)
			names.add(s.substring(s.lastIndexOf('/') + 1));
		return names.toArray(new String[0]);
	}

	@Override
	public String[] list(FilenameFilter f) {
		String[] all = list();
		if (all == null || f == null)
			return all;
		List<String> l = new ArrayList<>();
		for (String s : all)
			if (f.accept(this, s))
				l.add(s);
		return l.toArray(new String[0]);
	}

	private File[] files(String[] all) {
		if (all == null)
			return null;
		File[] l = new File[all.length];
		for (int k = 0; k < all.length; k++)
			l[k] = new SimFile(this, all[k]);
		return l;
	}

	@Override
	public File[] listFiles() {
		return files(list());
	}

	@Override
	public File[] listFiles(FilenameFilter f) {
		return files(list(f));
	}

	@Override
	public File[] listFiles(FileFilter f) {
		File[] all = listFiles();
		if (all == null || f == null)
			return all;
		List<File> l = new ArrayList<>();
		for (File x : all)
			if (f.accept(x))
				l.add(x);
		return l.toArray(new File[0]);
	}

	@Override
	public File getParentFile() {
		String p = getParent();
		return p == null ? null : new SimFile(p);
	}

	@Override
	public File getAbsoluteFile() {
		return new SimFile(getAbsolutePath());
	}

	@Override
	public File getCanonicalFile() {
		return new SimFile(getCanonicalPath());
	}

	@Override
	public String getCanonicalPath() {
		return OpenFiles.path(this);
	}

	@Override
	public long getUsableSpace() {
		return OpenFiles.on() ? 1L << 40 : super.getUsableSpace();
	}
}
