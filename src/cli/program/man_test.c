#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "cli/program/man.h"
#include "cli/program/man_roff.h"

struct greet_options {
	const char *name;
	struct flag_list from;
	bool loud;
};

static const struct flag greet_flags[] = {
	{ "name-of", 'n', FLAG_STRING(struct greet_options, name), .arg = "NAME", .initial = "you",
	  .help = "whom to greet; \"C:\\x\" is fine" },
	{ "kubeconfig", 0, FLAG_LIST(struct greet_options, from), .arg = "FILE",
	  .help = ".hidden files too" },
	{ "loud", 'h', FLAG_BOOL(struct greet_options, loud), .help = "loudly" },
	{ NULL },
};
static const struct command_note statuses[] = { { "0", "greeted" }, { NULL } };
static const struct command_note variables[] = { { "GREET", "what to say" }, { NULL } };
static const struct command_note files[] = { { "/etc/greet", "names" }, { NULL } };
static const struct command greet_command = {
	.name = "greet",
	.summary = "say hello",
	.usage = "NAME|--all [FLAGS]",
	.about = "Says `prog group`.\n\n.Then it's done\nand ends.",
	.examples = "  prog group greet 'a\\b' \\\n    --loud\n\n  .x\n",
	.exit_status = statuses,
	.environment = variables,
	.files = files,
	.flags = greet_flags,
	.options_size = sizeof(struct greet_options),
};
static const struct command other_command = { .name = "other", .summary = "do something else" };
static const struct command covert_command = { .name = "covert", .summary = "-", .hidden = true };
static const struct command *const below[] = { &greet_command, &other_command, &covert_command,
					       NULL };
static const struct command group_command = {
	.name = "group",
	.summary = "hold others",
	.subcommands = below,
};
static const struct command *const all[] = { &group_command, NULL };
static const struct command root = { .name = "prog", .summary = "an example", .subcommands = all };
static const struct man_opts opts = { .root = &root, .version = "1.2", .date = 86400 };

static void a_page_shows_all_of_its_row(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	const char *words[] = { "group", "greet" };

	(void)state;
	assert_int_equal(man_page(&opts, words, 2, &out, NULL), 0);
	assert_string_equal(
		out.p,
		".TH PROG\\-GROUP\\-GREET 1 \"1970-01-02\" \"prog 1.2\" \"User Commands\"\n"
		".SH NAME\nprog\\-group\\-greet \\- say hello\n"
		".SH SYNOPSIS\n.B prog group greet\n"
		"\\fINAME\\fP|\\fB\\-\\-all\\fP [\\fIFLAGS\\fP]\n"
		".SH DESCRIPTION\nSays \\fBprog group\\fP.\n.PP\n\\&.Then it\\(aqs done\n"
		".br\nand ends.\n"
		".SH OPTIONS\n"
		".TP\n\\fB\\-n\\fP, \\fB\\-\\-name\\-of\\fP \\fINAME\\fP\n"
		"whom to greet; \"C:\\(rsx\" is fine (default you)\n"
		".TP\n\\fB\\-\\-kubeconfig\\fP \\fIFILE,..\\fP\n\\&.hidden files too\n"
		".TP\n\\fB\\-h\\fP, \\fB\\-\\-loud\\fP\nloudly\n"
		".TP\n\\fB\\-\\-help\\fP\nshow this help\n"
		".SH EXIT STATUS\n.TP\n.B 0\ngreeted\n.TP\n.B 2\n"
		"the command line is not valid; a message says why\n"
		".SH ENVIRONMENT\n.TP\n.B KUBECONFIG\n"
		"kubeconfig files, separated by colons, which are merged\n"
		".TP\n.B KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT\n"
		"set in pods: the API server, used with the pod\\(aqs service account if there is "
		"no kubeconfig\n"
		".TP\n.B GREET\nwhat to say\n"
		".SH FILES\n.TP\n.B \\(ti/.kube/config\n"
		"the kubeconfig if neither flag nor variable names one\n"
		".TP\n.B /etc/greet\nnames\n"
		".SH EXAMPLES\n.EX\n"
		"prog group greet \\(aqa\\(rsb\\(aq \\(rs\n  \\-\\-loud\n\n\\&.x\n.EE\n"
		".SH SEE ALSO\n.BR prog\\-group (1),\n.BR prog\\-group\\-other (1)\n");
}

static void a_page_of_a_group_lists_what_is_below(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);

	(void)state;
	assert_int_equal(man_page(&opts, NULL, 0, &out, NULL), 0);
	assert_non_null(strstr(out.p, ".SH DESCRIPTION\nAn example.\n"));
	assert_non_null(strstr(out.p, ".SH COMMANDS\n.TP\n.B group\nhold others\n.SH OPTIONS\n"));
	assert_non_null(strstr(out.p, ".SH SEE ALSO\n.BR prog\\-group (1)\n"));
	assert_null(strstr(out.p, "ENVIRONMENT"));
	buf_clear(&out);
	assert_int_equal(man_page(&opts, (const char *[]){ "group" }, 1, &out, NULL), 0);
	assert_null(strstr(out.p, "covert"));
}

static void an_unknown_command_has_no_page(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct error err;

	(void)state;
	assert_int_equal(man_page(&opts, (const char *[]){ "grop" }, 1, &out, &err),
			 -ERR_NOT_FOUND);
	assert_string_equal(err.msg, "unknown command \"grop\"; did you mean \"group\"?");
	assert_int_equal(out.n, 0);
}

static void the_file_is_named_after_the_path(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);

	(void)state;
	man_file("prog group greet", &out);
	assert_string_equal(out.p, "prog-group-greet.1");
}

static void prose_is_escaped(void **state)
{
	static const struct {
		const char *text, *want;
	} v[] = {
		{ "a.b ..", "a.b ..\n" },
		{ "...", "\\&...\n" },
		{ "'q", "\\(aqq\n" },
		{ "~/x ^y", "\\(ti/x \\(hay\n" },
		{ "a `b", "a \\(gab\n" },
		{ "`-n` `.x`", "\\fB\\-n\\fP \\fB.x\\fP\n" },
		{ "\n\na\n\n\n\nb\n", "a\n.PP\nb\n" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);

		man_roff_prose(&out, str_from(v[i].text));
		assert_string_equal(out.p ? out.p : "", v[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_shows_all_of_its_row),
		cmocka_unit_test(a_page_of_a_group_lists_what_is_below),
		cmocka_unit_test(an_unknown_command_has_no_page),
		cmocka_unit_test(the_file_is_named_after_the_path),
		cmocka_unit_test(prose_is_escaped),
	};

	return cmocka_run_group_tests_name("cli/man", tests, NULL, NULL);
}
