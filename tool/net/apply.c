/* SPDX-License-Identifier: Apache-2.0 */
/* apply.c - writes settings and undoes them. Each write is read back; undo goes
 * backwards and can be repeated.
 *
 * Undo decides for each setting by its present value:
 *   as before apply       nothing to do: not reached by apply, or already undone
 *   as apply wrote it     undo writes the old value
 *   any other value       somebody else changed it since: undo reports it and leaves it
 *   does not exist        the device, thread or interrupt is gone, with its settings
 * So undo need not know how far apply or an earlier undo came. */
#include "apply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const outcome_names[] = {
	"written", "as it was", "refused", "gone", "changed by another",
	"failed",  "skipped",
};

static bool is_number(const char *dev, unsigned ifindex)
{
	return tree_number(0, "/sys/class/net/%s/ifindex", dev) == (long)ifindex;
}

/* Set step->at to where the setting is now: a renamed device keeps its ifindex, and
 * another device may have its old name. false: the device does not exist any more. */
static bool find(const struct journal *j, const char *key, struct step *step)
{
	char dir[64], **names;
	size_t len = (size_t)snprintf(dir, sizeof(dir), "/sys/class/net/%s/", j->dev),
	       n;
	bool found = false;

	snprintf(step->at, sizeof(step->at), "%s", key);
	if (strncmp(key, dir, len) != 0 || is_number(j->dev, j->ifindex))
		return true;
	names = tree_list("/sys/class/net", "", &n);
	for (size_t i = 0; i < n && !found; i++) {
		found = is_number(names[i], j->ifindex);
		if (found)
			snprintf(step->at, sizeof(step->at), "/sys/class/net/%.15s/%s",
				 names[i], key + len);
	}
	tree_list_free(names, n);
	return found;
}

/* Read the present value; -ENODEV if the device is gone. */
static int look(const struct journal *j, const char *key, struct step *step)
{
	return find(j, key, step) ? setting_read(step->at, step->now) : -ENODEV;
}

static bool is_gone(int err)
{
	return err == -ENOENT || err == -ENODEV || err == -ESRCH;
}

/* Write and read back. */
static int put(const char *key, const char *value, struct step *step)
{
	int err = setting_write(key, value);

	if (!err && strcmp(value, "-") != 0) {
		err = setting_read(key, step->now);
		if (!err && strcmp(step->now, value) != 0)
			err = -EIO;
	}
	return err;
}

/* If the kernel turned the value into another one, the old value is restored at once:
 * undo would think that somebody else had changed it. */
static void apply_one(const struct journal *j, const struct change *c,
		      struct step *step)
{
	step->err = find(j, c->key, step) ? put(step->at, c->new, step) : -ENODEV;
	if (step->err == -EIO && strcmp(step->now, c->old) != 0)
		setting_write(step->at, c->old);
	step->outcome = !step->err ? WRITTEN : c->may ? REFUSED : FAILED;
}

size_t apply_changes(const struct journal *j, struct step *step)
{
	for (size_t i = 0; i < j->n; i++)
		step[i].outcome = SKIPPED;
	for (size_t i = 0; i < j->n; i++) {
		apply_one(j, &j->change[i], &step[i]);
		if (step[i].outcome == FAILED)
			return 1;
	}
	return 0;
}

static void undo_one(const struct journal *j, const struct change *c, struct step *step)
{
	bool thread_went = !strcmp(c->new, "-"), no_thread = !strcmp(c->old, "-");

	step->err = look(j, c->key, step);
	if (is_gone(step->err) ||
	    (!step->err && !no_thread && !thread_went && !strcmp(step->now, "-")))
		step->outcome = GONE;
	else if (step->err)
		step->outcome = FAILED;
	else if (!strcmp(step->now, c->old))
		step->outcome = AS_IT_WAS;
	else if (strcmp(step->now, c->new) != 0 && !thread_went)
		step->outcome = CHANGED;
	else
		step->err = put(step->at, c->old, step),
		step->outcome = !step->err           ? WRITTEN
				: is_gone(step->err) ? GONE
						     : FAILED;
}

size_t undo_changes(const struct journal *j, struct step *step)
{
	size_t failed = 0;

	for (size_t i = j->n; i--;) {
		undo_one(j, &j->change[i], &step[i]);
		failed += step[i].outcome == FAILED;
	}
	return failed;
}

bool change_holds(const struct journal *j, const struct change *c, struct step *step)
{
	step->err = look(j, c->key, step);
	if (is_gone(step->err))
		step->outcome = GONE;
	else
		step->outcome = step->err                   ? FAILED
				: strcmp(step->now, c->new) ? CHANGED
							    : WRITTEN;
	return step->outcome == WRITTEN;
}
