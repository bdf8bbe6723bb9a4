/* SPDX-License-Identifier: Apache-2.0 */
/* The intrusive list. */
#include "base/list.h"

#include "test.h"

struct node {
	struct list link;
	char name;
};

static struct node n[5];

static void anew(void)
{
	for (int i = 0; i < 5; i++) {
		n[i].name = (char)('a' + i);
		list_init(&n[i].link);
	}
}

/* Checks the names of the list in both directions. */
static void is(struct list *l, const char *want)
{
	struct list *p = l->next;
	size_t len = strlen(want);

	for (size_t i = 0; i < len; i++, p = p->next) {
		CHECK(p != l);
		CHECK_EQ(container_of(p, struct node, link)->name, want[i]);
		CHECK(p->next->prev == p && p->prev->next == p);
	}
	CHECK(p == l);
	CHECK_EQ(list_empty(l), len == 0);
}

static void both_ends_are_pushed_and_the_front_is_popped(void)
{
	struct list l = LIST_INIT(l);

	anew();
	is(&l, "");
	CHECK(!list_pop_front(&l));
	list_push_back(&l, &n[1].link);
	list_push_back(&l, &n[2].link);
	list_push_front(&l, &n[0].link);
	is(&l, "abc");
	CHECK(list_pop_front(&l) == &n[0].link);
	CHECK(list_empty(&n[0].link));
	is(&l, "bc");
	list_pop_front(&l);
	list_pop_front(&l);
	is(&l, "");
}

static void a_deleted_node_may_be_deleted_again(void)
{
	struct list l = LIST_INIT(l);

	anew();
	for (int i = 0; i < 3; i++)
		list_push_back(&l, &n[i].link);
	list_del(&n[1].link);
	list_del(&n[1].link);
	is(&l, "ac");
	list_push_back(&l, &n[1].link);
	is(&l, "acb");
}

static void a_splice_empties_its_source(void)
{
	struct list l = LIST_INIT(l), m = LIST_INIT(m);

	anew();
	list_splice_back(&l, &m);
	is(&l, "");
	list_push_back(&m, &n[0].link);
	list_push_back(&m, &n[1].link);
	list_splice_back(&l, &m);
	is(&l, "ab");
	is(&m, "");
	list_push_back(&m, &n[2].link);
	list_splice_back(&l, &m);
	is(&l, "abc");
	list_splice_back(&l, &m);
	is(&l, "abc");
}

static void a_safe_walk_may_delete_the_current_node(void)
{
	struct list l = LIST_INIT(l);
	int seen = 0;

	anew();
	for (int i = 0; i < 5; i++)
		list_push_back(&l, &n[i].link);
	list_each_safe(p, next, &l)
	{
		if (seen++ % 2 == 0)
			list_del(p);
	}
	CHECK_EQ(seen, 5);
	is(&l, "bd");
	seen = 0;
	list_each(p, &l) seen++;
	CHECK_EQ(seen, 2);
}

int main(void)
{
	RUN(both_ends_are_pushed_and_the_front_is_popped);
	RUN(a_deleted_node_may_be_deleted_again);
	RUN(a_splice_empties_its_source);
	RUN(a_safe_walk_may_delete_the_current_node);
	return 0;
}
