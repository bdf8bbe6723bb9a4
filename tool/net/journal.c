/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - saves the old values on disk before the first write.
 *
 * The journal is one text file, replaced atomically and synced, so it exists with all
 * old values or not at all. It is written before the first change and removed after the
 * last restore. So it exists whenever settings may differ, and after SIGKILL at any
 * moment undo finds what it needs. It is in /run because a reboot resets the settings,
 * too.
 *
 * There is one for each machine. It names its network namespace, because the same name
 * may be another device in another namespace. (Rejected: a log to which each write is
 * appended. All old values are known before the first write, and a reader of the log
 * would have to detect a torn end.) */
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static void here(char boot[64], char netns[64])
{
	char value[VALUE], path[PATH_MAX];
	ssize_t n = readlink(tree_path("/proc/self/ns/net", path), netns, 63);

	netns[n < 0 ? 0 : n] = 0;
	if (n <= 0)
		strcpy(netns, "?");
	tree_value(value, "/proc/sys/kernel/random/boot_id");
	snprintf(boot, 64, "%.63s", *value ? value : "?");
}

int journal_lock(void)
{
	char path[PATH_MAX];
	int fd;

	mkdir(tree_path("/run", path), 0755); /* missing in some recorded trees */
	mkdir(tree_path("/run/uk-net", path), 0755);
	fd = open(tree_path("/run/uk-net/lock", path), O_RDWR | O_CREAT | O_CLOEXEC,
		  0600); /* another user could hold the lock for ever */
	if (fd < 0)
		return -errno;
	fchmod(fd, 0600);
	return flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0; /* stays open until exit */
}

void journal_begin(struct journal *j, const struct plan *p, bool alone)
{
	memset(j, 0, sizeof(*j));
	here(j->boot, j->netns);
	snprintf(j->dev, sizeof(j->dev), "%s", p->dev->name);
	snprintf(j->rung, sizeof(j->rung), "%s", rung_names[p->rung]);
	j->ifindex = p->dev->ifindex;
	j->cpu = p->cpu;
	j->alone = alone;
	j->change = p->change;
	j->n = p->n;
}

int journal_store(const struct journal *j)
{
	size_t len;
	char *text;
	FILE *f = open_memstream(&text, &len);
	int err;

	if (!f)
		return -errno;
	fprintf(f, "uk-net 1\nboot %s\nnetns %s\ndevice %s %u\nwish %ld %s %d\n",
		j->boot, j->netns, j->dev, j->ifindex, j->cpu, j->rung, j->alone);
	for (size_t i = 0; i < j->n; i++)
		fprintf(f, "set\t%s\t%s\t%s\t%d\n", j->change[i].key, j->change[i].old,
			j->change[i].new, j->change[i].may);
	fprintf(f, "end %zu\n", j->n);
	if (fclose(f))
		return -ENOMEM;
	err = tree_replace(JOURNAL, text, len);
	free(text);
	return err;
}

int journal_remove(void)
{
	return tree_remove(JOURNAL);
}

/* "set KEY OLD NEW MAY", with tabs between; a value may be empty. */
static bool take_change(struct journal *j, char *line)
{
	const char *word[5];
	struct change *c;

	for (size_t i = 0; i < 5; i++)
		if (!(word[i] = strsep(&line, "\t")))
			return false;
	j->change = tree_grow(j->change, j->n, sizeof(*c));
	c = &j->change[j->n++];
	snprintf(c->key, sizeof(c->key), "%s", word[1]);
	snprintf(c->old, sizeof(c->old), "%s", word[2]);
	snprintf(c->new, sizeof(c->new), "%s", word[3]);
	c->may = *word[4] == '1';
	return true;
}

static bool take(struct journal *j, char *text)
{
	size_t n;
	int used = 0;
	char *line;

	if (sscanf(text,
		   "uk-net 1\nboot %63[^\n]\nnetns %63[^\n]\n"
		   "device %15s %u\nwish %ld %15s %d\n%n",
		   j->boot, j->netns, j->dev, &j->ifindex, &j->cpu, j->rung, &j->alone,
		   &used) != 7)
		return false;
	text += used;
	while ((line = strsep(&text, "\n")) && !strncmp(line, "set\t", 4))
		if (!take_change(j, line))
			return false;
	return line && sscanf(line, "end %zu", &n) == 1 && n == j->n;
}

int journal_load(struct journal *j)
{
	char *text;
	bool ok;
	int err = tree_access(JOURNAL, R_OK);

	memset(j, 0, sizeof(*j));
	if (err)
		return err == -ENOENT ? 0 : err;
	text = tree_text(JOURNAL, NULL);
	ok = text && take(j, text);
	free(text);
	return ok ? 1 : -EBADMSG;
}

bool journal_of_last_boot(const struct journal *j)
{
	char boot[64], netns[64];

	here(boot, netns);
	/* "?": unknown, /proc is incomplete. A reboot removes /run and the journal */
	return strcmp(j->boot, boot) != 0 && strcmp(j->boot, "?") != 0 &&
	       strcmp(boot, "?") != 0;
}

const char *journal_strange(const struct journal *j)
{
	char boot[64], netns[64];

	here(boot, netns);
	return strcmp(j->netns, netns)
		   ? "the plan was applied in another network namespace"
		   : NULL;
}
