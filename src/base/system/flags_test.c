#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/system/flags.h"

struct options {
	bool watch, all;
	const char *output;
	const char *kubeconfig;
	int64_t secure_port;
	int64_t lease;
	struct flag_list servers;
};

static const struct flag table[] = {
	{ "watch", 'w', FLAG_BOOL(struct options, watch), .help = "keep printing changes" },
	{ "all", 'A', FLAG_BOOL(struct options, all), .help = "everything", .initial = "true" },
	{ "output", 'o', FLAG_STRING(struct options, output), .choices = "text|json|yaml",
	  .initial = "text", .help = "how to print" },
	{ "kubeconfig", 0, FLAG_STRING(struct options, kubeconfig), .arg = "FILE",
	  .help = "how to reach the API server" },
	{ "secure-port", 'p', FLAG_INT(struct options, secure_port), .arg = "PORT", .min = 1,
	  .max = 65535, .initial = "6443", .help = "where to listen" },
	{ "lease", 0, FLAG_DURATION(struct options, lease), .arg = "TIME", .initial = "15s",
	  .min = CLOCK_SEC, .max = 60 * CLOCK_SEC, .help = "how long to lead" },
	{ "servers", 's', FLAG_LIST(struct options, servers), .arg = "URL", .initial = "a,b",
	  .help = "where the store is" },
	{ NULL },
};

/* A parse with everything it needs. */
struct fixture {
	struct arena arena;
	struct options o;
	struct flags f;
	struct error err;
};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x)
		return -1;
	arena_init(&x->arena, MIB);
	x->f = (struct flags){ .table = table, .options = &x->o, .arena = &x->arena };
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	arena_release(&x->arena);
	free(x);
	return 0;
}

/* Parses the arguments up to a NULL. */
static int parse(struct fixture *x, ...)
{
	char *argv[16];
	int argc = 0;
	va_list ap;

	va_start(ap, x);
	while (argc < 16 && (argv[argc] = va_arg(ap, char *)))
		argc++;
	va_end(ap);
	return flags_parse(&x->f, argc, argv, &x->err);
}

static void assert_refused(struct fixture *x, const char *message, const char *a, const char *b)
{
	assert_int_equal(parse(x, a, b, NULL), -ERR_BAD_REQUEST);
	assert_string_equal(x->err.msg, message);
}

static void initial_values_hold_when_nothing_is_given(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(parse(x, NULL), 0);
	assert_false(x->o.watch);
	assert_true(x->o.all);
	assert_string_equal(x->o.output, "text");
	assert_null(x->o.kubeconfig);
	assert_int_equal(x->o.secure_port, 6443);
	assert_int_equal(x->o.lease, 15 * CLOCK_SEC);
	assert_int_equal(x->o.servers.n, 2);
	assert_int_equal(x->f.operands.n, 0);
	assert_false(x->f.help);
}

static void long_flags_take_their_value_attached_or_apart(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(parse(x, "--output", "json", "--secure-port=8443", "--kubeconfig=", NULL),
			 0);
	assert_string_equal(x->o.output, "json");
	assert_int_equal(x->o.secure_port, 8443);
	assert_string_equal(x->o.kubeconfig, "");
}

static void letters_take_their_value_attached_or_apart(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(parse(x, "-ojson", NULL), 0);
	assert_string_equal(x->o.output, "json");
	assert_int_equal(parse(x, "-o", "yaml", NULL), 0);
	assert_string_equal(x->o.output, "yaml");
	assert_int_equal(parse(x, "-o=json", NULL), 0);
	assert_string_equal(x->o.output, "json");
}

static void letters_of_booleans_share_a_dash(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(parse(x, "-wA=false", NULL), 0);
	assert_true(x->o.watch);
	assert_false(x->o.all);
	assert_int_equal(parse(x, "-wojson", "rest", NULL), 0);
	assert_true(x->o.watch);
	assert_string_equal(x->o.output, "json");
	assert_int_equal(x->f.operands.n, 1);
}

static void booleans_can_be_switched_off(void **state)
{
	static const struct {
		const char *arg;
		bool want;
	} cases[] = {
		{ "--all", true },        { "--all=true", true }, { "--all=TRUE", true },
		{ "--all=1", true },      { "--all=t", true },    { "--all=false", false },
		{ "--all=False", false }, { "--all=0", false },   { "--all=f", false },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(x, cases[i].arg, NULL), 0);
		assert_int_equal(x->o.all, cases[i].want);
	}
	assert_refused(x, "flag --all: \"maybe\" is neither true nor false", "--all=maybe", NULL);
}

static void a_boolean_does_not_swallow_the_next_argument(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(parse(x, "--watch", "false", NULL), 0);
	assert_true(x->o.watch);
	assert_int_equal(x->f.operands.n, 1);
	assert_string_equal(x->f.operands.v[0], "false");
}

static void operands_mix_with_flags_and_end_them_after_two_dashes(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(parse(x, "pods", "-w", "-", "--", "--output", "-x", NULL), 0);
	assert_true(x->o.watch);
	assert_int_equal(x->f.operands.n, 4);
	assert_string_equal(x->f.operands.v[0], "pods");
	assert_string_equal(x->f.operands.v[1], "-");
	assert_string_equal(x->f.operands.v[2], "--output");
	assert_string_equal(x->f.operands.v[3], "-x");
}

static void lists_add_up_and_replace_their_initial_value(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(parse(x, "--servers", "one,two", "-s", ",three,", NULL), 0);
	assert_int_equal(x->o.servers.n, 3);
	assert_string_equal(x->o.servers.v[0], "one");
	assert_string_equal(x->o.servers.v[1], "two");
	assert_string_equal(x->o.servers.v[2], "three");
	assert_int_equal(parse(x, "--servers=", NULL), 0);
	assert_int_equal(x->o.servers.n, 0);
}

static void repeated_values_keep_their_commas(void **state)
{
	static const struct flag headers[] = {
		{ "header", 'H', FLAG_REPEAT(struct options, servers), .arg = "NAME:VALUE",
		  .initial = "none", .help = "send this, too" },
		{ NULL },
	};
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);
	struct fixture *x = *state;

	x->f.table = headers;
	assert_int_equal(parse(x, NULL), 0);
	assert_int_equal(x->o.servers.n, 1);
	assert_int_equal(parse(x, "-H", "Accept: a, b", "--header=", NULL), 0);
	assert_int_equal(x->o.servers.n, 2);
	assert_string_equal(x->o.servers.v[0], "Accept: a, b");
	assert_string_equal(x->o.servers.v[1], "");
	flags_help(headers, 80, &b);
	assert_memory_equal(b.p, "  -H, --header NAME:VALUE ..  send", 34);
}

static void long_lists_keep_every_element(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct fixture *x = *state;
	char want[16];

	for (int i = 0; i < 1000; i++)
		(void)buf_printf(&b, "%d,", i);
	assert_int_equal(parse(x, "--servers", b.p, NULL), 0);
	assert_int_equal(x->o.servers.n, 1000);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(want, sizeof(want), "%d", i);
		assert_string_equal(x->o.servers.v[i], want);
	}
}

static void the_last_value_wins(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(parse(x, "-o", "json", "--output=yaml", NULL), 0);
	assert_string_equal(x->o.output, "yaml");
}

static void durations_are_read_as_go_writes_them(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(parse(x, "--lease", "1.5s", NULL), 0);
	assert_int_equal(x->o.lease, 1500 * CLOCK_MS);
	assert_int_equal(parse(x, "--lease=1m0s", NULL), 0);
	assert_int_equal(x->o.lease, 60 * CLOCK_SEC);
	assert_refused(x, "flag --lease: \"10\" is not a duration such as 300ms, 15s or 1h30m",
		       "--lease", "10");
	assert_refused(x, "flag --lease: 2m is not between 1s and 1m0s", "--lease", "2m");
}

static void a_plain_number_may_be_of_seconds(void **state)
{
	static const struct flag seconds[] = {
		{ "lease", 0, FLAG_DURATION(struct options, lease), .max = 60 * CLOCK_SEC,
		  .seconds = true, .help = "how long to lead" },
		{ NULL },
	};
	struct fixture *x = *state;

	x->f.table = seconds;
	assert_int_equal(parse(x, "--lease", "10", NULL), 0);
	assert_int_equal(x->o.lease, 10 * CLOCK_SEC);
	assert_int_equal(parse(x, "--lease=0", NULL), 0);
	assert_int_equal(x->o.lease, 0);
	assert_int_equal(parse(x, "--lease=300ms", NULL), 0);
	assert_int_equal(x->o.lease, 300 * CLOCK_MS);
	assert_refused(x, "flag --lease: 61 is not between 0s and 1m0s", "--lease", "61");
	assert_refused(x, "flag --lease: -1 is not between 0s and 1m0s", "--lease=-1", NULL);
	assert_refused(x,
		       "flag --lease: \"99999999999999\" is not a duration such as 300ms, 15s or "
		       "1h30m",
		       "--lease=99999999999999", NULL);
}

static void integers_are_checked(void **state)
{
	struct fixture *x = *state;

	assert_refused(x, "flag --secure-port: \"http\" is not an integer", "-p", "http");
	assert_refused(x, "flag --secure-port: \"\" is not an integer", "--secure-port=", NULL);
	assert_refused(x, "flag --secure-port: 0 is not between 1 and 65535", "-p0", NULL);
	assert_refused(x, "flag --secure-port: 65536 is not between 1 and 65535", "-p", "65536");
	assert_refused(x, "flag --secure-port: -1 is not between 1 and 65535", "-p", "-1");
}

static void choices_are_checked(void **state)
{
	struct fixture *x = *state;

	assert_refused(x,
		       "flag --output: \"jsno\" is not one of text|json|yaml; did you mean json?",
		       "-o", "jsno");
	assert_refused(x, "flag --output: \"pdf\" is not one of text|json|yaml", "--output=pdf",
		       NULL);
	assert_refused(x, "flag --output: \"\" is not one of text|json|yaml", "--output=", NULL);
	assert_refused(x, "flag --output: \"text|json\" is not one of text|json|yaml",
		       "--output=text|json", NULL);
}

static void unknown_flags_name_the_nearest(void **state)
{
	struct fixture *x = *state;

	assert_refused(x, "unknown flag --secure-prot; did you mean --secure-port?",
		       "--secure-prot=1", NULL);
	assert_refused(x, "unknown flag --kube; did you mean --kubeconfig?", "--kube", "f");
	assert_refused(x, "unknown flag --hlep; did you mean --help?", "--hlep", NULL);
	assert_refused(x, "unknown flag --frobnicate", "--frobnicate", NULL);
	assert_refused(x, "unknown flag -lease; did you mean --lease?", "-lease", NULL);
	assert_refused(x, "unknown flag -x", "-wx", NULL);
}

static void a_missing_value_is_named(void **state)
{
	struct fixture *x = *state;

	assert_refused(x, "flag --output needs a value", "--output", NULL);
	assert_refused(x, "flag --output needs a value", "-wo", NULL);
}

static void required_flags_must_be_given_unless_help_is_asked_for(void **state)
{
	static const struct flag needy[] = {
		{ "kubeconfig", 0, FLAG_STRING(struct options, kubeconfig), .required = true,
		  .help = "x" },
		{ NULL },
	};
	struct fixture *x = *state;

	x->f.table = needy;
	assert_refused(x, "flag --kubeconfig is required", NULL, NULL);
	assert_int_equal(parse(x, "--kubeconfig", "f", NULL), 0);
	assert_int_equal(parse(x, "-h", NULL), 0);
	assert_true(x->f.help);
	assert_int_equal(parse(x, "--help", NULL), 0);
	assert_true(x->f.help);
}

static void a_command_without_flags_still_knows_help(void **state)
{
	struct fixture *x = *state;

	x->f.table = NULL;
	x->f.options = NULL;
	assert_int_equal(parse(x, "one", "--help", NULL), 0);
	assert_true(x->f.help);
	assert_refused(x, "unknown flag --output", "--output", NULL);
}

static void help_is_aligned_and_wrapped(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(4 * KIB);

	flags_help(table, 60, &b);
	assert_string_equal(b.p, "  -w, --watch                 keep printing changes\n"
				 "  -A, --all                   everything (default true)\n"
				 "  -o, --output text|json|yaml\n"
				 "                              how to print (default text)\n"
				 "      --kubeconfig FILE       how to reach the API server\n"
				 "  -p, --secure-port PORT      where to listen (default 6443)\n"
				 "      --lease TIME            how long to lead (default 15s)\n"
				 "  -s, --servers URL,..        where the store is (default\n"
				 "                              a,b)\n"
				 "  -h, --help                  show this help\n");
}

static void help_gives_way_to_a_flag_that_uses_its_letter(void **state)
{
	static const struct flag human[] = {
		{ "human", 'h', FLAG_BOOL(struct options, all), .help = "readable sizes" },
		{ NULL },
	};
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);
	struct fixture *x = *state;

	x->f.table = human;
	assert_int_equal(parse(x, "-h", NULL), 0);
	assert_true(x->o.all);
	assert_false(x->f.help);
	flags_help(human, 80, &b);
	assert_string_equal(b.p, "  -h, --human  readable sizes\n"
				 "      --help   show this help\n");
}

static void a_value_may_be_left_out_where_the_flag_means_something_alone(void **state)
{
	static const struct flag dry[] = {
		{ "output", 'o', FLAG_STRING(struct options, output), .choices = "a|b",
		  .alone = "b", .help = "how" },
		{ NULL },
	};
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);
	struct fixture *x = *state;

	x->f.table = dry;
	assert_int_equal(parse(x, "--output", "a", NULL), 0);
	assert_string_equal(x->o.output, "b");
	assert_int_equal(x->f.operands.n, 1);
	assert_int_equal(parse(x, "--output=a", NULL), 0);
	assert_string_equal(x->o.output, "a");
	assert_int_equal(parse(x, "-o", "x", NULL), 0);
	assert_string_equal(x->o.output, "b");
	assert_int_equal(parse(x, "--output=c", NULL), -ERR_BAD_REQUEST);
	assert_false(flags_wants_value(dry));
	flags_help(dry, 80, &b);
	assert_string_equal(b.p, "  -o, --output[=a|b]  how\n"
				 "  -h, --help          show this help\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(initial_values_hold_when_nothing_is_given),
		TEST(long_flags_take_their_value_attached_or_apart),
		TEST(letters_take_their_value_attached_or_apart),
		TEST(letters_of_booleans_share_a_dash),
		TEST(booleans_can_be_switched_off),
		TEST(a_boolean_does_not_swallow_the_next_argument),
		TEST(operands_mix_with_flags_and_end_them_after_two_dashes),
		TEST(lists_add_up_and_replace_their_initial_value),
		TEST(repeated_values_keep_their_commas),
		TEST(long_lists_keep_every_element),
		TEST(the_last_value_wins),
		TEST(durations_are_read_as_go_writes_them),
		TEST(a_plain_number_may_be_of_seconds),
		TEST(integers_are_checked),
		TEST(choices_are_checked),
		TEST(unknown_flags_name_the_nearest),
		TEST(a_missing_value_is_named),
		TEST(required_flags_must_be_given_unless_help_is_asked_for),
		TEST(a_command_without_flags_still_knows_help),
		TEST(help_is_aligned_and_wrapped),
		TEST(help_gives_way_to_a_flag_that_uses_its_letter),
		TEST(a_value_may_be_left_out_where_the_flag_means_something_alone),
	};

	return cmocka_run_group_tests_name("base/flags", tests, NULL, NULL);
}
