/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import crawlercommons.filters.basic.BasicURLNormalizer;
import java.net.MalformedURLException;
import java.util.Optional;

import org.ukthreads.pico.piranha.http.Target;

/** One spelling for each URL: what de-duplication compares. */
final class Urls {
    private static final int MAX_LENGTH = 4096;

    private final BasicURLNormalizer normalizer = new BasicURLNormalizer();

    /** Without fragment, dot segments and default port; empty: not a URL that is fetched. */
    Optional<String> normal(String url) {
        String text = url.trim();
        if (text.isEmpty() || text.length() > MAX_LENGTH
                || !(text.regionMatches(true, 0, "http://", 0, 7)
                || text.regionMatches(true, 0, "https://", 0, 8))) {
            return Optional.empty();
        }
        String normal = normalizer.filter(text);
        if (normal == null) {
            return Optional.empty();
        }
        try {
            Target.of(normal);
            return Optional.of(normal);
        } catch (MalformedURLException e) {
            return Optional.empty();
        }
    }
}
