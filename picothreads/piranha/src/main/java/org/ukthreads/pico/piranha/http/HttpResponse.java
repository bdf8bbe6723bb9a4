/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha.http;

import java.util.List;
import java.util.Locale;

/** An answer with its decoded body, and the bytes as they were exchanged (for an archive). */
public final class HttpResponse {
	private final int status;
	private final List<String> headers;     /* "Name: value", in the order of arrival */
	private final byte[] body;
	private final boolean truncated;
	private final String damage;
	private final Budget.Leave leave;
	private final Exchange exchange;

	HttpResponse(int status, List<String> headers, byte[] body, boolean truncated,
			String damage, Exchange exchange, Budget.Leave leave) {
		this.leave = leave;
		this.damage = damage;
		this.status = status;
		this.headers = headers;
		this.body = body;
		this.truncated = truncated;
		this.exchange = exchange;
	}

	public int status() {
		return status;
	}

	/**
	 * Returns the body after chunked and gzip decoding, truncated at the size limit; not copied.
	 */
	public byte[] body() {
		return body;
	}

	public boolean truncated() {
		return truncated;
	}

	/**
	 * Returns what is wrong with the compressed body, of which body() has the readable part; "":
	 * nothing.
	 */
	public String damage() {
		return damage;
	}

	/** Releases the memory of the body, which is not needed any more. One call is enough. */
	public void release() {
		leave.close();
	}

	public Exchange exchange() {
		return exchange;
	}

	public boolean redirect() {
		return status >= 301 && status <= 308 && status != 304 && !header("location").isEmpty();
	}

	/** Returns the first value of the header, or "". */
	public String header(String name) {
		return find(headers, name);
	}

	/** Returns the media type alone, in lower case, or "". */
	public String mediaType() {
		String type = header("content-type");
		int end = type.indexOf(';');
		return (end < 0 ? type : type.substring(0, end)).trim().toLowerCase(Locale.ROOT);
	}

	/** Returns the charset of the content type, or "" if it has none. */
	public String charset() {
		String type = header("content-type");
		int at = type.toLowerCase(Locale.ROOT).indexOf("charset=");
		if (at < 0) {
			return "";
		}
		String value = type.substring(at + 8).trim();
		int end = value.indexOf(';');
		return (end < 0 ? value : value.substring(0, end)).replace("\"", "").trim();
	}

	static String find(List<String> headers, String name) {
		for (String header : headers) {
			if (header.length() > name.length() && header.charAt(name.length()) == ':'
					&& header.regionMatches(true, 0, name, 0, name.length())) {
				return header.substring(name.length() + 1).trim();
			}
		}
		return "";
	}
}
