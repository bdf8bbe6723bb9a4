/* SPDX-License-Identifier: Apache-2.0 */
/* screen.c - the terminal of `uk top`.
 *
 * On a terminal, a screen is written at once: cursor to the top, each line and "clear to
 * the end of the line", "clear below". Rejected: ncurses. It finds out which escape
 * sequences a terminal has and which parts of the screen to send; every terminal of
 * today knows the six of ECMA-48 that are used here, and a screen is 5 KB a second. It
 * would be one more library, and has its own opinion about signals and the size. */
#include "screen.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

struct screen screen;
static struct termios before;

void screen_end(void)
{
	if (!screen.on)
		return;
	screen.on = false;
	if (screen.keys)
		tcsetattr(STDIN_FILENO, TCSANOW, &before);
	screen.keys = false;
	/* the cursor, and the screen as it was */
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
}

void screen_measure(void)
{
	struct winsize w;

	screen.rows = 24;
	screen.columns = 80;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_row && w.ws_col) {
		screen.rows = w.ws_row;
		screen.columns = w.ws_col;
	}
}

void screen_begin(bool colour)
{
	struct termios raw;

	screen.colour = colour;
	screen.keys = isatty(STDIN_FILENO) && !tcgetattr(STDIN_FILENO, &before);
	if (screen.keys) {
		raw = before;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 0;
		raw.c_cc[VTIME] = 0;
		tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	}
	screen.on = true;
	screen_measure();
	fputs("\033[?1049h\033[?25l", stdout);
	fflush(stdout);
}

/* One line of the screen, cut at its right edge. Escape sequences take no column. */
static void put_line(const char *line, size_t n)
{
	int column = 0;

	for (size_t i = 0; i < n; i++) {
		if (line[i] == '\033') {
			while (i < n && line[i] != 'm')
				putchar(line[i++]);
			putchar('m');
			continue;
		}
		/* a character begins where no continuation byte is */
		if (((unsigned char)line[i] & 0xc0) != 0x80 &&
		    column++ >= screen.columns)
			break;
		putchar(line[i]);
	}
	fputs(screen_plain(), stdout);
	/* beyond the last column it would clear that */
	if (column < screen.columns)
		fputs("\033[K", stdout);
}

void screen_put(const char *text)
{
	fputs("\033[H", stdout);
	for (int row = 0; *text && row < screen.rows; row++) {
		size_t n = strcspn(text, "\n");

		if (row)
			putchar('\n');
		put_line(text, n);
		text += n + (text[n] != 0);
	}
	fputs("\033[J", stdout);
}

const char *screen_bold(void)
{
	return screen.colour ? "\033[1m" : "";
}

const char *screen_heading(void)
{
	return screen.colour ? "\033[7m" : "";
}

const char *screen_warn(void)
{
	return screen.colour ? "\033[33m" : "";
}

const char *screen_plain(void)
{
	return screen.colour ? "\033[0m" : "";
}
