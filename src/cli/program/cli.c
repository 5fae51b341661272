/*
 * Dispatch. The words before the first flag select a command in the table; the rest belongs to
 * that command.
 *
 * Output is buffered by stdio, so a full disk or a closed pipe may show up only at the final
 * flush. There it turns success into failure, because a script must not take half a list for a
 * whole one. If the reader stops early, as `head` does, nothing is printed: that is not an error.
 */
#include "cli/program/cli.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "cli/program/clean.h"
#include "cli/program/completion.h"
#include "cli/program/help.h"

enum { WIDTH_DEFAULT = 80, WIDTH_MIN = 40, WIDTH_MAX = 120 };

/* A rejection that names every field of a large object is long. */
#define MESSAGE_MAX (16UL * MIB)

/* For arena_try_alloc only: lists of whole clusters are read into it. */
#define ARENA_MAX (8192UL * MIB)

static bool wants_colour(FILE *f)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(f)) == 1 && !(no_color && *no_color) && term &&
	       strcmp(term, "dumb") != 0;
}

static size_t width_of(FILE *f)
{
	struct winsize size = { 0 };

	if (ioctl(fileno(f), TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return WIDTH_DEFAULT;
	return MIN(MAX((size_t)size.ws_col, (size_t)WIDTH_MIN), (size_t)WIDTH_MAX);
}

void cli_init(struct cli *cli, FILE *out, FILE *err)
{
	*cli = (struct cli){
		.out = out,
		.err = err,
		.width = width_of(out),
		.out_colour = wants_colour(out),
		.err_colour = wants_colour(err),
	};
	arena_init(&cli->arena, ARENA_MAX);
}

/* The text may contain foreign text, so it is cleaned for the terminal. */
static void print_message(const struct cli *cli, const char *fmt, va_list ap)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MESSAGE_MAX), clean = BUF_INIT(MESSAGE_MAX);

	(void)buf_vprintf(&text, fmt, ap);
	output_clean_text(&clean, buf_str(&text), "\t\n");
	(void)fwrite(clean.p, 1, clean.n, cli->err);
	(void)fputc('\n', cli->err);
}

void cli_complain(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	(void)fprintf(cli->err, cli->err_colour ? "\033[1;31m%s:\033[0m " : "%s: ", cli->program);
	va_start(ap, fmt);
	print_message(cli, fmt, ap);
	va_end(ap);
}

void cli_warn(const struct cli *cli, const char *fmt, ...)
{
	va_list ap;

	(void)fputs(cli->err_colour ? "\033[1;33mWarning:\033[0m " : "Warning: ", cli->err);
	va_start(ap, fmt);
	print_message(cli, fmt, ap);
	va_end(ap);
}

int cli_bad_usage(struct cli *cli, struct error *err, const char *fmt, ...)
{
	char text[sizeof(err->msg)]; /* truncated there anyway */
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	cli->bad_usage = true;
	return error_set(err, ERR_BAD_REQUEST, "%s", text);
}

int cli_unknown_command(struct cli *cli, const struct command *c, const char *name,
			struct error *err)
{
	struct str guess = command_nearest(c, str_from(name));

	if (guess.n == 0)
		return cli_bad_usage(cli, err, "unknown command \"%s\"", name);
	return cli_bad_usage(cli, err, "unknown command \"%s\"; did you mean \"%.*s\"?", name,
			     STR_ARG(guess));
}

/* Whether the file's name is `prefix` and the program's own name, as in "kubectl-x". */
static bool is_named(struct str name, const char *prefix, struct str root)
{
	struct str start = str_from(prefix);

	return str_starts(name, start) && str_eq(str_skip(name, start.n), root);
}

static struct str file_name(const char *program)
{
	const char *slash = strrchr(program, '/');

	return str_from(slash ? slash + 1 : program);
}

/*
 * A link named "devplane-cni" is the command "cni", for programs that run commands by file name.
 * One named "kubectl-devplane" is what kubectl runs for `kubectl devplane`.
 */
static void begin_at_program(struct cli *cli, struct str name)
{
	struct str root = str_from(cli->root->name);
	const struct command *c;

	if (is_named(name, "kubectl-", root)) {
		cli->program = cli->path = arena_printf(&cli->arena, "kubectl %s", cli->root->name);
		return;
	}
	if (!str_starts(name, root) || name.n <= root.n || name.p[root.n] != '-')
		return;
	c = command_find(cli->root, str_skip(name, root.n + 1));
	if (!c)
		return;
	cli->command = c;
	cli->path = arena_printf(&cli->arena, "%s %s", cli->path, c->name);
}

/* Follows the leading words down the table; *at is then the first word after them. */
static int find_command(struct cli *cli, int argc, char *const *argv, int *at, struct error *err)
{
	const struct command *next;

	for (; *at < argc && cli->command->subcommands && argv[*at][0] != '-'; ++*at) {
		next = command_find(cli->command, str_from(argv[*at]));
		if (!next)
			return cli_unknown_command(cli, cli->command, argv[*at], err);
		cli->command = next;
		cli->path = arena_printf(&cli->arena, "%s %s", cli->path, next->name);
	}
	return 0;
}

static int check_operands(struct cli *cli, struct error *err)
{
	const struct command *c = cli->command;

	if (cli->operands.n > c->operands_max)
		return cli_bad_usage(cli, err, "unexpected argument \"%s\"",
				     cli->operands.v[c->operands_max]);
	if (cli->operands.n < c->operands_min)
		return cli_bad_usage(cli, err, "too few arguments; usage: %s %s", cli->path,
				     command_usage(c));
	return 0;
}

static int run_command(struct cli *cli, int argc, char *const *argv, struct error *err)
{
	const struct command *c = cli->command;
	struct flags flags = { .table = c->flags, .arena = &cli->arena };
	int r;

	if (c->options_size)
		flags.options = cli->options = arena_calloc(&cli->arena, c->options_size);
	r = flags_parse(&flags, argc, argv, err);
	if (r < 0) {
		cli->bad_usage = true;
		return r;
	}
	cli->operands = flags.operands;
	if (flags.help || !c->run) {
		help_print(cli, c, cli->path);
		return 0;
	}
	r = check_operands(cli, err);
	return r < 0 ? r : c->run(cli, err);
}

static int failure_of(const struct cli *cli)
{
	return cli->command->failure ? cli->command->failure : CLI_FAILURE;
}

static int cli_report(const struct cli *cli, const struct error *err)
{
	cli_complain(cli, "%s", err->msg);
	if (!cli->bad_usage)
		return failure_of(cli);
	(void)fprintf(cli->err, "run '%s --help' for help\n", cli->path);
	return CLI_USAGE;
}

/* Checks now instead of using errno: any earlier write may have failed. */
static bool is_unread(FILE *out)
{
	struct pollfd p = { .fd = fileno(out) };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

/* Lost output is a failure, whatever the command returned. */
static int cli_finish(const struct cli *cli, int code)
{
	bool failed = ferror(cli->out);

	errno = 0;
	if (fflush(cli->out) == 0 && !failed)
		return code;
	if (errno == EPIPE || is_unread(cli->out))
		return code == CLI_OK ? CLI_UNREAD : code;
	cli_complain(cli, "cannot write the output%s%s", errno ? ": " : "",
		     errno ? strerrordesc_np(errno) : "");
	return MAX(code, failure_of(cli));
}

/* A shell or kubectl requests completions: its words, the last of them unfinished. */
static int cli_complete(struct cli *cli, int argc, char *const *argv)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);

	completion_words(cli, argc - 1, argv + 1, &out);
	(void)fwrite(out.p, 1, out.n, cli->out);
	return cli_finish(cli, CLI_OK);
}

int cli_main(struct cli *cli, const struct command *root, int argc, char *const *argv)
{
	struct error err = { 0 };
	int at = 1, code, r;

	cli->root = cli->command = root;
	cli->program = cli->path = root->name;
	if (argc > 1 && strcmp(argv[1], "__complete") == 0)
		at = 2;
	if (argc > 0 &&
	    (at == 2 || is_named(file_name(argv[0]), "kubectl_complete-", str_from(root->name)))) {
		code = cli_complete(cli, argc - at + 1, argv + at - 1);
		arena_release(&cli->arena);
		return code;
	}
	if (argc > 0)
		begin_at_program(cli, file_name(argv[0]));
	r = find_command(cli, argc, argv, &at, &err);
	if (r == 0)
		r = run_command(cli, argc - MIN(at, argc), argv + MIN(at, argc), &err);
	code = r < 0 ? cli_report(cli, &err) : cli->status;
	code = cli_finish(cli, code);
	arena_release(&cli->arena);
	return code;
}
