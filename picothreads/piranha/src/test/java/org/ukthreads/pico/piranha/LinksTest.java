/* SPDX-License-Identifier: Apache-2.0 */
package org.ukthreads.pico.piranha;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.ukthreads.pico.piranha.http.HttpClient;
import org.ukthreads.pico.piranha.http.HttpLimits;
import org.ukthreads.pico.piranha.http.HttpResponse;
import org.ukthreads.pico.piranha.http.Target;

@Timeout(20)
final class LinksTest {
    private static final String BASE = "http://h.example/dir/page.html";

    @Test
    void links_are_absolute_normal_and_told_once() throws IOException {
        assertEquals(List.of("http://h.example/dir/a", "http://h.example/b?x=1",
                "http://other.example/", "http://h.example/area", "http://h.example/frame"),
                links("<a href=a>1</a><a href='/dir/../b?x=1#top'>2</a><a href='./a#z'>3</a>"
                + "<a href='HTTP://Other.Example:80'>4</a><area href=/area><iframe src=/frame>"
                + "</iframe><a name=x>5</a><img src=/no.png><a href=''>self</a>", "text/html")
                .subList(0, 5));
    }

    @Test
    void what_is_no_web_page_is_no_link() throws IOException {
        assertEquals(List.of(), links("<a href='mailto:a@b'>1</a><a href='javascript:x()'>2</a>"
                + "<a href='ftp://h/'>3</a><a href='http://'>4</a><a href='http://[x'>5</a>"
                + "<a href='data:text/html,x'>6</a>", "text/html"));
    }

    @Test
    void a_page_may_ask_not_to_be_followed() throws IOException {
        assertEquals(List.of(), links("<meta name=ROBOTS content='noindex, NoFollow'>"
                + "<a href=/a>1</a>", "text/html"));
        assertEquals(List.of("http://h.example/b"),
                links("<a rel='x nofollow' href=/a>1</a><a href=/b>2</a>", "text/html"));
    }

    @Test
    void the_base_element_counts() throws IOException {
        assertEquals(List.of("http://b.example/x/a"),
                links("<base href='http://b.example/x/'><a href=a>1</a>", "text/html"));
    }

    @Test
    void the_charset_of_the_header_or_the_page_counts() throws IOException {
        String page = "<a href='/\u00e4'>1</a>";
        List<String> expected = List.of("http://h.example/%C3%A4");
        assertEquals(expected, links(page, "text/html; charset=utf-8"));
        assertEquals(expected, links(page, "text/html; charset=iso-8859-1",
                StandardCharsets.ISO_8859_1));
        assertEquals(expected, links("<meta charset=iso-8859-1>" + page, "text/html",
                StandardCharsets.ISO_8859_1));
        assertEquals(expected, links(page, "text/html; charset=no-such"));
    }

    private static List<String> links(String page, String type) throws IOException {
        return links(page, type, StandardCharsets.UTF_8);
    }

    private static List<String> links(String page, String type, Charset charset)
            throws IOException {
        return new Links(new Urls()).of(BASE, response(page.getBytes(charset), type));
    }

    /** Through a real connection: there is no other way to make a response. */
    private static HttpResponse response(byte[] body, String type) throws IOException {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            ByteArrayOutputStream answer = new ByteArrayOutputStream();
            answer.write(("HTTP/1.1 200 OK\r\nContent-Type: " + type + "\r\nContent-Length: "
                    + body.length + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
            answer.write(body);
            Thread thread = new Thread(() -> {
                try (Socket socket = server.accept()) {
                    socket.getInputStream().read(new byte[1000]);
                    socket.getOutputStream().write(answer.toByteArray());
                } catch (IOException e) {
                    throw new IllegalStateException(e);
                }
            });
            thread.start();
            HttpClient http = new HttpClient("T", new HttpLimits(1000, 1000, 1000, 100_000),
                    false, false);
            return http.get(Target.of("http://127.0.0.1:" + server.getLocalPort() + "/"));
        }
    }
}
