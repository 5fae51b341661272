/*
 * The layout of the structs that plugins and the scheduler share, or drivers and the SDK, as
 * ABI_MEMBERS lists it. Built with today's header and with the frozen one: every member of the
 * frozen one is where it was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include ABI_HEADER

struct member {
	const char *in, *name;
	size_t listed, offset, size, align;
	size_t whole; /* of the struct */
};

static const struct member members[] = {
#define MEMBER(s, m, at)                            \
	{ #s,                                       \
	  #m,                                       \
	  at,                                       \
	  offsetof(struct s, m),                    \
	  sizeof(((struct s *)0)->m),               \
	  _Alignof(__typeof__(((struct s *)0)->m)), \
	  sizeof(struct s) },
#define VALUE(name, value)
#include ABI_MEMBERS
#undef MEMBER
#undef VALUE
};

enum { MEMBERS = sizeof(members) / sizeof(members[0]) };

static size_t aligned(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

static void members_are_where_they_were(void **state)
{
	(void)state;
	if (sizeof(void *) != 8)
		skip();
	for (size_t i = 0; i < MEMBERS; i++)
		if (members[i].offset != members[i].listed)
			fail_msg("struct %s: %s is at %zu and was at %zu", members[i].in,
				 members[i].name, members[i].offset, members[i].listed);
}

/* Each begins where the one before it ends, and the last one ends the struct. */
static void every_member_is_listed(void **state)
{
	size_t end = 0;

	(void)state;
	for (size_t i = 0; i < MEMBERS; i++) {
		const struct member *m = &members[i];
		bool last = i + 1 == MEMBERS || strcmp(m->in, m[1].in) != 0;

		if (m->offset != aligned(end, m->align))
			fail_msg("struct %s: a member before %s is not in " ABI_MEMBERS, m->in,
				 m->name);
		end = m->offset + m->size;
		if (last && aligned(end, _Alignof(void *)) != aligned(m->whole, _Alignof(void *)))
			fail_msg("struct %s: a member after %s is not in " ABI_MEMBERS, m->in,
				 m->name);
		if (last)
			end = 0;
	}
}

static void constants_have_their_values(void **state)
{
	(void)state;
#define MEMBER(s, m, at)
#define VALUE(name, value) assert_int_equal(name, value);
#include ABI_MEMBERS
#undef MEMBER
#undef VALUE
}

/* Were the frozen header today's, plugins that are built with it would prove nothing. */
static void the_version_is_the_expected_one(void **state)
{
	(void)state;
	assert_int_equal(ABI_MAJOR, 1);
	assert_int_equal(ABI_MINOR, ABI_EXPECTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_are_where_they_were),
		cmocka_unit_test(every_member_is_listed),
		cmocka_unit_test(constants_have_their_values),
		cmocka_unit_test(the_version_is_the_expected_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
