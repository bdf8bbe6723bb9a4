// SPDX-License-Identifier: Apache-2.0
package org.ukthreads.pico.net;

import java.security.cert.Certificate;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;

/** Checks whether a certificate is for a host (RFC 6125, subject alternative names only). */
final class HostNames {
	private static final int DNS = 2;
	private static final int ADDRESS = 7;

	private HostNames() {}

	static boolean match(String host, SSLSession s) {
		try {
			Certificate c = s.getPeerCertificates()[0];
			Collection<List<?>> names = c instanceof X509Certificate
				? ((X509Certificate) c).getSubjectAlternativeNames() : null;
			if (names == null)
				return false;
			boolean literal = Dns.literal(host);
			for (List<?> n : names)
				if (n.get(0).equals(literal ? ADDRESS : DNS)
						&& match(host.toLowerCase(Locale.ROOT),
						((String) n.get(1)).toLowerCase(Locale.ROOT), literal))
					return true;
			return false;
		} catch (SSLPeerUnverifiedException | CertificateParsingException e) {
			return false;
		}
	}

	/** Compares a host with a name. A leading `*` label matches exactly one label. */
	private static boolean match(String host, String name, boolean literal) {
		if (literal || !name.startsWith("*."))
			return host.equals(name);
		int dot = host.indexOf('.');
		return dot > 0 && host.substring(dot).equals(name.substring(1))
			&& name.indexOf('.', 2) > 0;
	}
}
