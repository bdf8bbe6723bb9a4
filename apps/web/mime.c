/* SPDX-License-Identifier: Apache-2.0 */
/* Media types by file name extension: a built-in table for what the web needs, and
 * everything that /etc/mime.types adds (Debian: package media-types). The hash table is
 * filled before any thread exists and only read after; text types carry a charset. */
#include "web.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const built_in[][2] = {
	{ "html", "text/html; charset=utf-8" },
	{ "htm", "text/html; charset=utf-8" },
	{ "css", "text/css; charset=utf-8" },
	{ "js", "text/javascript; charset=utf-8" },
	{ "mjs", "text/javascript; charset=utf-8" },
	{ "txt", "text/plain; charset=utf-8" },
	{ "md", "text/markdown; charset=utf-8" },
	{ "csv", "text/csv; charset=utf-8" },
	{ "xml", "application/xml" },
	{ "json", "application/json" },
	{ "wasm", "application/wasm" },
	{ "pdf", "application/pdf" },
	{ "gz", "application/gzip" },
	{ "zip", "application/zip" },
	{ "tar", "application/x-tar" },
	{ "svg", "image/svg+xml" },
	{ "png", "image/png" },
	{ "jpg", "image/jpeg" },
	{ "jpeg", "image/jpeg" },
	{ "gif", "image/gif" },
	{ "webp", "image/webp" },
	{ "avif", "image/avif" },
	{ "ico", "image/vnd.microsoft.icon" },
	{ "woff", "font/woff" },
	{ "woff2", "font/woff2" },
	{ "ttf", "font/ttf" },
	{ "mp3", "audio/mpeg" },
	{ "ogg", "audio/ogg" },
	{ "mp4", "video/mp4" },
	{ "webm", "video/webm" },
};

#define SLOTS 8192 /* power of two, a few times what Debian's file has */
#define MAX_EXT 15
static struct {
	char ext[MAX_EXT + 1];
	const char *type;
} table[SLOTS];
static unsigned used;

static unsigned slot_of(const char *ext)
{
	uint32_t h = PATH_HASH_INIT;

	for (const char *p = ext; *p; p++)
		h = path_hash_step(h, (unsigned char)*p);
	h %= SLOTS;
	while (table[h].type && strcmp(table[h].ext, ext) != 0)
		h = (h + 1) % SLOTS;
	return h;
}

static bool add(const char *ext, const char *type)
{
	unsigned h;

	if (strlen(ext) > MAX_EXT || used > SLOTS / 2)
		return false;
	h = slot_of(ext);
	if (table[h].type)
		return false; /* the first one wins */
	strcpy(table[h].ext, ext);
	table[h].type = type;
	used++;
	return true;
}

static void add_line(char *line)
{
	char *save, *type = strtok_r(line, " \t\r\n", &save), *ext, *copy;
	bool kept = false;

	if (!type || type[0] == '#' || strlen(type) > 120)
		return;
	copy = strdup(type);
	while (copy && (ext = strtok_r(NULL, " \t\r\n", &save)) != NULL)
		kept |= add(ext, copy);
	if (!kept)
		free(copy);
}

void mime_init(void)
{
	FILE *f;
	char *line = NULL;
	size_t cap = 0;

	for (size_t i = 0; i < sizeof(built_in) / sizeof(built_in[0]); i++)
		add(built_in[i][0], built_in[i][1]);
	f = fopen("/etc/mime.types", "re");
	if (!f)
		return;
	while (getline(&line, &cap, f) > 0)
		add_line(line);
	free(line);
	fclose(f);
}

const char *mime_of(const char *path, size_t n)
{
	char ext[MAX_EXT + 1];
	size_t i = n, k = 0;
	unsigned h;

	while (i > 0 && path[i - 1] != '.' && path[i - 1] != '/')
		i--;
	if (i == 0 || path[i - 1] == '/' || n - i > MAX_EXT)
		return "application/octet-stream";
	for (; i < n; i++)
		ext[k++] = (char)tolower((unsigned char)path[i]);
	ext[k] = 0;
	h = slot_of(ext);
	return table[h].type ? table[h].type : "application/octet-stream";
}
