#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "cli/program/cli.h"
#include "cli/program/completion.h"

struct greet_options {
	const char *name;
	const char *from;
	bool loud;
	const char *how;
};

static int greet(struct cli *cli, struct error *err)
{
	const struct greet_options *o = cli->options;

	if (strcmp(o->name, "nobody") == 0)
		return error_set(err, ERR_NOT_FOUND, "there is nobody");
	if (strcmp(o->name, "") == 0)
		return cli_bad_usage(cli, err, "a name has %d letters or more", 1);
	(void)fprintf(cli->out, "%s: hello %s%s", cli->path, o->name, o->loud ? "!" : "");
	for (size_t i = 0; i < cli->operands.n; i++)
		(void)fprintf(cli->out, " and %s", cli->operands.v[i]);
	return 0;
}

static const struct flag greet_flags[] = {
	{ "name", 'n', FLAG_STRING(struct greet_options, name), .arg = "NAME", .initial = "you",
	  .help = "whom to greet" },
	{ "from", 0, FLAG_STRING(struct greet_options, from), .arg = "FILE", .help = "more names" },
	{ "loud", 'l', FLAG_BOOL(struct greet_options, loud), .help = "it's [loud]" },
	{ NULL },
};
static const struct flag seek_flags[] = {
	{ "how", 0, FLAG_STRING(struct greet_options, how), .usual = "fast|map=", .help = "way" },
	{ NULL },
};
static const struct command greet_command = {
	.name = "greet",
	.summary = "say hello",
	.usage = "[FLAGS] NAME [NAME]",
	.about = "Says hello.",
	.examples = "prog greet you\nprog greet all",
	.group = COMMAND_TOOL,
	.flags = greet_flags,
	.options_size = sizeof(struct greet_options),
	.operands_min = 1,
	.operands_max = 2,
	.run = greet,
};
static const struct command deep_command = {
	.name = "deep",
	.summary = "greet from below",
	.flags = greet_flags,
	.options_size = sizeof(struct greet_options),
	.run = greet,
};
static const struct command seek_command = {
	.name = "seek",
	.summary = "look for things",
	.flags = seek_flags,
	.options_size = sizeof(struct greet_options),
	.operands_max = COMMAND_ANY,
	.types = true,
};
static const struct command covert_command = {
	.name = "covert",
	.summary = "not shown",
	.hidden = true,
	.failure = 3,
	.flags = greet_flags,
	.options_size = sizeof(struct greet_options),
	.run = greet,
};
static const struct command *const below[] = { &deep_command, &seek_command, NULL };
static const struct command group_command = {
	.name = "group",
	.summary = "hold others",
	.group = COMMAND_ABOUT,
	.subcommands = below,
};
static const struct command *const all[] = { &greet_command, &group_command, &covert_command,
					     NULL };
static const struct command root = {
	.name = "prog",
	.summary = "an example",
	.subcommands = all,
};

/* One run with its output captured. */
struct fixture {
	struct cli cli;
	char *out, *err;
	size_t out_n, err_n;
};

static void forget(struct fixture *x)
{
	free(x->out);
	free(x->err);
	x->out = x->err = NULL;
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	forget(*state);
	free(*state);
	return 0;
}

/* Runs the arguments before a NULL. */
#define run(x, ...) run_as(x, "prog", __VA_ARGS__)

static int run_as(struct fixture *x, const char *program, ...)
{
	char name[64], *argv[8] = { name };
	int argc = 1, code;
	FILE *out, *err;
	va_list ap;

	(void)snprintf(name, sizeof(name), "%s", program);
	va_start(ap, program);
	while (argc < 8 && (argv[argc] = va_arg(ap, char *)))
		argc++;
	va_end(ap);
	forget(x);
	out = open_memstream(&x->out, &x->out_n);
	err = open_memstream(&x->err, &x->err_n);
	cli_init(&x->cli, out, err);
	code = cli_main(&x->cli, &root, argc, argv);
	(void)fclose(out);
	(void)fclose(err);
	return code;
}

static void a_command_gets_its_options_and_operands(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(run(x, "greet", "-ln", "them", "one", "two", NULL), CLI_OK);
	assert_string_equal(x->out, "prog greet: hello them! and one and two");
	assert_string_equal(x->err, "");
}

static void a_nested_command_knows_its_path(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(run(x, "group", "deep", NULL), CLI_OK);
	assert_string_equal(x->out, "prog group deep: hello you");
}

static void a_link_named_after_a_command_is_that_command(void **state)
{
	static const struct {
		const char *program, *argument, *out;
	} v[] = {
		{ "/opt/bin/prog-greet", "me", "prog greet: hello you and me" },
		{ "prog-group", "deep", "prog group deep: hello you" },
		{ "prog-debug", "covert", "prog covert: hello you" },
		{ "/usr/bin/kubectl-prog", "covert", "kubectl prog covert: hello you" },
		{ "kubectl-program", "covert", "prog covert: hello you" },
		{ "/opt/prog-greet/x", "covert", "prog covert: hello you" },
		{ "program", "covert", "prog covert: hello you" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		assert_int_equal(run_as(x, v[i].program, v[i].argument, NULL), CLI_OK);
		assert_string_equal(x->out, v[i].out);
	}
}

static void a_failure_is_printed_once_and_is_exit_code_1(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(run(x, "greet", "--name=nobody", "x", NULL), CLI_FAILURE);
	assert_string_equal(x->err, "prog: there is nobody\n");
	assert_string_equal(x->out, "");
}

static void bad_usage_is_exit_code_2_with_a_hint(void **state)
{
	static const struct {
		const char *a, *b, *c;
		const char *message;
	} cases[] = {
		{ "greet", "--name=", "x",
		  "prog: a name has 1 letters or more\nrun 'prog greet --help' for help\n" },
		{ "greet", "--nmae=x", "x",
		  "prog: unknown flag --nmae; did you mean --name?\n"
		  "run 'prog greet --help' for help\n" },
		{ "greet", NULL, NULL,
		  "prog: too few arguments; usage: prog greet [FLAGS] NAME [NAME]\n"
		  "run 'prog greet --help' for help\n" },
		{ "gret", NULL, NULL,
		  "prog: unknown command \"gret\"; did you mean \"greet\"?\n"
		  "run 'prog --help' for help\n" },
		{ "group", "dep", NULL,
		  "prog: unknown command \"dep\"; did you mean \"deep\"?\n"
		  "run 'prog group --help' for help\n" },
		{ "group", "deep", "x",
		  "prog: unexpected argument \"x\"\nrun 'prog group deep --help' for help\n" },
		{ "sekret", NULL, NULL,
		  "prog: unknown command \"sekret\"\nrun 'prog --help' for help\n" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(run(x, cases[i].a, cases[i].b, cases[i].c, NULL), CLI_USAGE);
		assert_string_equal(x->err, cases[i].message);
		assert_string_equal(x->out, "");
	}
}

static void an_endless_mistake_is_cut_and_not_lost(void **state)
{
	struct fixture *x = *state;
	char word[4096];

	memset(word, 'x', sizeof(word));
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(run(x, word, NULL), CLI_USAGE);
	assert_memory_equal(x->err, "prog: unknown command \"xxx", 26);
}

static void a_hidden_command_runs_but_is_not_listed(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(run(x, "covert", NULL), CLI_OK);
	assert_string_equal(x->out, "prog covert: hello you");
	assert_int_equal(run(x, "--help", NULL), CLI_OK);
	assert_null(strstr(x->out, "covert"));
}

static void the_overview_lists_commands_by_group(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(run(x, NULL), CLI_OK);
	assert_string_equal(x->out, "prog - an example\n"
				    "\nUsage:\n"
				    "  prog COMMAND\n"
				    "\nTools:\n"
				    "  greet  say hello\n"
				    "\nAbout devplane:\n"
				    "  group  hold others\n"
				    "\nFlags:\n"
				    "  -h, --help  show this help\n"
				    "\nRun 'prog COMMAND --help' for more about a command.\n");
}

static void help_of_a_command_shows_all_of_its_row(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(run(x, "greet", "-h", NULL), CLI_OK);
	assert_string_equal(x->out, "prog greet - say hello\n"
				    "\nSays hello.\n"
				    "\nUsage:\n"
				    "  prog greet [FLAGS] NAME [NAME]\n"
				    "\nFlags:\n"
				    "  -n, --name NAME  whom to greet (default you)\n"
				    "      --from FILE  more names\n"
				    "  -l, --loud       it's [loud]\n"
				    "  -h, --help       show this help\n"
				    "\nExamples:\n"
				    "  prog greet you\n"
				    "  prog greet all\n");
}

static void lost_output_turns_success_into_failure(void **state)
{
	struct fixture *x = *state;
	char *argv[] = { (char[]){ "prog" }, NULL };
	FILE *full = fopen("/dev/full", "w"), *err = open_memstream(&x->err, &x->err_n);

	assert_non_null(full);
	cli_init(&x->cli, full, err);
	assert_int_equal(cli_main(&x->cli, &root, 1, argv), CLI_FAILURE);
	(void)fclose(full);
	(void)fclose(err);
	assert_string_equal(x->err, "prog: cannot write the output: No space left on device\n");
}

static void failures_of_a_command_may_have_a_code_of_their_own(void **state)
{
	struct fixture *x = *state;
	char *argv[] = { (char[]){ "prog" }, (char[]){ "covert" }, NULL };
	FILE *full = fopen("/dev/full", "w"), *err;

	assert_int_equal(run(x, "covert", "--name=nobody", NULL), 3);
	forget(x);
	err = open_memstream(&x->err, &x->err_n);
	assert_non_null(full);
	cli_init(&x->cli, full, err);
	assert_int_equal(cli_main(&x->cli, &root, 2, argv), 3);
	(void)fclose(full);
	(void)fclose(err);
}

static void messages_have_no_control_characters_but_line_ends(void **state)
{
	struct fixture *x = *state;
	FILE *err;

	assert_int_equal(run(x, "\033[2Jgre\xc2\x9bt", NULL), CLI_USAGE);
	assert_string_equal(x->err, "prog: unknown command \"^[[2Jgre t\"\n"
				    "run 'prog --help' for help\n");
	forget(x);
	err = open_memstream(&x->err, &x->err_n);
	cli_init(&x->cli, err, err);
	cli_warn(&x->cli, "%s", "one\a\ntwo\033[31m\xff");
	(void)fclose(err);
	assert_string_equal(x->err, "Warning: one \ntwo^[[31m\xef\xbf\xbd\n");
}

static void an_empty_argument_vector_is_harmless(void **state)
{
	struct fixture *x = *state;
	char *argv[] = { NULL };
	FILE *out = open_memstream(&x->out, &x->out_n);

	cli_init(&x->cli, out, out);
	assert_int_equal(cli_main(&x->cli, &root, 0, argv), CLI_OK);
	(void)fclose(out);
	assert_memory_equal(x->out, "prog - an example\n", 18);
}

static void completion_scripts_know_commands_flags_and_files(void **state)
{
	static const struct {
		void (*generate)(const struct command *root, struct buf *out);
		const char *want[6];
	} cases[] = {
		{ completion_bash,
		  { "'prog group deep')", "flags=' --name --from --loud --help'",
		    "'prog greet --from') kind=files",
		    "'prog greet --name' | 'prog greet -n') kind=none",
		    "'prog group seek seek') [[ $cur == -* ]] || { kind=types words='",
		    "'prog group seek --how') kind=words words='fast map='" } },
		{ completion_zsh,
		  { "_prog_group_deep() {", "'--from=[more names]:FILE:_files'",
		    "'(-n --name)'{-n+,--name=}'[whom to greet]:NAME: '",
		    "'(-l --loud)'{-l,--loud}'[it'\\''s \\[loud\\]]'", "'greet:say hello'",
		    "resourcepools devices)' \\\n" } },
		{ completion_fish,
		  { "-n '__prog_at \"prog group\"' -a deep -d 'greet from below'",
		    "-n '__prog_at \"prog greet\"' -l from -r -F -d 'more names'",
		    "-l name -s n -x -d 'whom to greet'", "-l loud -s l -d 'it\\'s [loud]'",
		    "\"prog group seek\"; and test (count (commandline -opc)) -eq 3' -a '" } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(buf_release) struct buf script = BUF_INIT(MIB);

		cases[i].generate(&root, &script);
		for (size_t j = 0; j < ARRAY_SIZE(cases[i].want) && cases[i].want[j]; j++)
			if (!strstr(script.p, cases[i].want[j]))
				fail_msg("%s is not in:\n%s", cases[i].want[j], script.p);
		assert_null(strstr(script.p, "covert"));
	}
}

static void a_plugin_of_kubectl_speaks_as_one(void **state)
{
	struct fixture *x = *state;

	assert_int_equal(run_as(x, "/x/kubectl-prog", "greet", "--help", NULL), CLI_OK);
	assert_non_null(strstr(x->out, "Usage:\n  kubectl prog greet [FLAGS] NAME [NAME]\n"));
	assert_non_null(strstr(x->out, "  kubectl prog greet you\n"));
	assert_int_equal(run_as(x, "kubectl-prog", "great", NULL), CLI_USAGE);
	assert_string_equal(x->err, "kubectl prog: unknown command \"great\"; did you mean "
				    "\"greet\"?\nrun 'kubectl prog --help' for help\n");
}

static void kubectl_is_told_what_may_come_next(void **state)
{
	static const struct {
		const char *words[4];
		const char *want;
	} v[] = {
		{ { "" }, "greet\tsay hello\ngroup\thold others\n:4\n" },
		{ { NULL }, "greet\tsay hello\ngroup\thold others\n:4\n" },
		{ { "gro" }, "group\thold others\n:4\n" },
		{ { "cov" }, ":4\n" },
		{ { "group", "" }, "deep\tgreet from below\nseek\tlook for things\n:4\n" },
		{ { "group", "seek", "resourcep" },
		  "resourcepoolstatusrequests\nresourcepools\n:4\n" },
		{ { "group", "seek", "pods,nod" }, "pods,nodes\n:4\n" },
		{ { "group", "seek", "pods", "no" }, ":4\n" }, /* that is a name */
		{ { "group", "seek", "--how", "" }, "fast\nmap=\n:4\n" },
		{ { "group", "seek", "--how=m" }, "--how=map=\n:4\n" },
		{ { "greet", "--f" }, "--from\tmore names\n:4\n" },
		{ { "greet", "-" },
		  "--name\twhom to greet\n--from\tmore names\n--loud\tit's "
		  "[loud]\n--help\tshow this help\n:4\n" },
		{ { "greet", "--from", "" }, ":0\n" },
		{ { "greet", "--from=x" }, ":0\n" },
		{ { "greet", "-n", "x" }, ":4\n" },
		{ { "greet", "-l", "--h" }, "--help\tshow this help\n:4\n" },
		/* A flag's value is not a command. */
		{ { "greet", "--name", "group", "--fr" }, "--from\tmore names\n:4\n" },
		{ { "nonsense", "" }, "greet\tsay hello\ngroup\thold others\n:4\n" },
	};
	struct fixture *x = *state;

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		assert_int_equal(run_as(x, "/x/kubectl_complete-prog", v[i].words[0], v[i].words[1],
					v[i].words[2], v[i].words[3], NULL),
				 CLI_OK);
		assert_string_equal(x->out, v[i].want);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_command_gets_its_options_and_operands),
		TEST(a_nested_command_knows_its_path),
		TEST(a_link_named_after_a_command_is_that_command),
		TEST(a_failure_is_printed_once_and_is_exit_code_1),
		TEST(bad_usage_is_exit_code_2_with_a_hint),
		TEST(an_endless_mistake_is_cut_and_not_lost),
		TEST(a_hidden_command_runs_but_is_not_listed),
		TEST(the_overview_lists_commands_by_group),
		TEST(help_of_a_command_shows_all_of_its_row),
		TEST(lost_output_turns_success_into_failure),
		TEST(failures_of_a_command_may_have_a_code_of_their_own),
		TEST(messages_have_no_control_characters_but_line_ends),
		TEST(an_empty_argument_vector_is_harmless),
		TEST(a_plugin_of_kubectl_speaks_as_one),
		TEST(kubectl_is_told_what_may_come_next),
		TEST(completion_scripts_know_commands_flags_and_files),
	};

	return cmocka_run_group_tests_name("cli/cli", tests, NULL, NULL);
}
