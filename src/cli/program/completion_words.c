/*
 * Completion at run time, as kubectl requests it. The words select a command in the table; a flag
 * that takes a value consumes the next word. A word that is not a command is an operand.
 */
#include "cli/program/completion.h"

#include "base/core/limits.h"
#include "cli/program/cli.h"

static const char files_may_follow[] = ":0\n", nothing_else[] = ":4\n";

const struct flag *completion_flag(const struct flag *table, struct str word)
{
	struct str rest = str_skip(word, 2), name;

	(void)str_split(&rest, '=', &name);
	for (const struct flag *f = table; f && f->name; f++) {
		if (str_starts(word, STR("--")) && str_eqz(name, f->name))
			return f;
		if (f->letter && word.n == 2 && word.p[0] == '-' && word.p[1] == f->letter)
			return f;
	}
	return NULL;
}

void completion_offer(struct buf *out, struct str so_far, const char *before, struct str word,
		      const char *what)
{
	if (!str_starts(word, so_far))
		return;
	(void)buf_printf(out, "%s%.*s", before, STR_ARG(word));
	if (what)
		(void)buf_printf(out, "\t%s", what);
	(void)buf_addc(out, '\n');
}

bool completion_wants_name(const struct flag *flag)
{
	static const char *const names[] = { "namespace", "node", "driver", "pool" };

	for (size_t i = 0; flag->arg && i < ARRAY_SIZE(names); i++)
		if (strcmp(flag->name, names[i]) == 0 && strcmp(flag->arg, "NAME") == 0)
			return true;
	return false;
}

/* Names that the server knows, if the program can ask. */
static void offer_names(struct cli *cli, struct buf *out, const struct completion_query *q)
{
	if (cli->root->complete)
		cli->root->complete(cli, q, out);
	(void)buf_addz(out, nothing_else);
}

/* `before` is the part of the word before the value: "--output=", or "". */
static void offer_values(struct buf *out, const struct flag *f, const char *before,
			 struct str so_far)
{
	struct str rest = str_from(completion_values(f)), value;

	while (str_split(&rest, '|', &value))
		completion_offer(out, so_far, before, value, NULL);
	(void)buf_addz(out, completion_wants_path(f) ? files_may_follow : nothing_else);
}

static void offer_flags(struct buf *out, const struct command *c, struct str so_far)
{
	struct str name = str_skip(so_far, MIN(so_far.n, (size_t)2));

	for (const struct flag *f = c->flags; f && f->name; f++)
		completion_offer(out, name, "--", str_from(f->name), f->help);
	completion_offer(out, name, "--", str_from(flags_help_row.name), flags_help_row.help);
	(void)buf_addz(out, nothing_else);
}

static void offer_commands(struct buf *out, const struct command *c, struct str so_far)
{
	for (const struct command *const *sub = c->subcommands; sub && *sub; sub++)
		if (!(*sub)->hidden)
			completion_offer(out, so_far, "", str_from((*sub)->name), (*sub)->summary);
	(void)buf_addz(out, nothing_else);
}

/* Several types are separated by commas: the last is to be completed. */
static void offer_types(struct buf *out, struct str so_far)
{
	CLEANUP(buf_release) struct buf types = BUF_INIT(64 * KIB);
	struct str rest, type, before = so_far;
	char done[256];

	while (before.n > 0 && before.p[before.n - 1] != ',')
		before.n--;
	(void)snprintf(done, sizeof(done), "%.*s", STR_ARG(before));
	completion_add_types(&types);
	rest = buf_str(&types);
	while (str_split(&rest, ' ', &type))
		completion_offer(out, str_skip(so_far, before.n), done, type, NULL);
	(void)buf_addz(out, nothing_else);
}

/* The complete words of a line. */
struct line {
	const struct command *command; /* that they name */
	const struct flag *flag; /* that waits for its value; or NULL */
	size_t operands;
	struct str first; /* operand */
};

static struct line follow(const struct command *root, int argc, char *const *argv)
{
	struct line l = { .command = root };

	for (int i = 0; i < argc; i++) {
		struct str word = str_from(argv[i]);
		const struct command *sub = command_find(l.command, word);

		if (l.flag) {
			l.flag = NULL;
			continue;
		}
		l.flag = str_chr(word, '=') < 0 ? completion_flag(l.command->flags, word) : NULL;
		if (l.flag && !flags_wants_value(l.flag))
			l.flag = NULL;
		if (sub && !str_eqz(word, "help")) { /* the words after `help` name a command */
			l.command = sub;
		} else if (!str_starts(word, STR("-")) && l.operands++ == 0) {
			l.first = word;
		}
	}
	return l;
}

static void offer_value(struct cli *cli, struct buf *out, struct completion_query *q)
{
	if (completion_wants_name(q->flag))
		offer_names(cli, out, q);
	else
		offer_values(out, q->flag, q->before, q->so_far);
}

static void offer_operand(struct cli *cli, struct buf *out, const struct line *l,
			  struct completion_query *q)
{
	const struct command *c = l->command;
	struct str rest = q->so_far, type;
	char before[256];

	if (c->types && str_split(&rest, '/', &type) && rest.p &&
	    (l->operands == 0 || str_chr(l->first, '/') > 0)) {
		(void)snprintf(before, sizeof(before), "%.*s/", STR_ARG(type));
		q->type = type;
		q->so_far = rest;
		q->before = before;
		offer_names(cli, out, q);
	} else if (c->types && l->operands == 0) {
		offer_types(out, q->so_far);
	} else if (c->types || c->names) {
		q->type = c->names ? str_from(c->names) : l->first;
		offer_names(cli, out, q);
	} else {
		offer_commands(out, c, q->so_far);
	}
}

void completion_words(struct cli *cli, int argc, char *const *argv, struct buf *out)
{
	struct str last = argc > 0 ? str_from(argv[argc - 1]) : STR_NULL;
	struct line l = follow(cli->root, MAX(argc - 1, 0), argv);
	ptrdiff_t equals = str_chr(last, '=');
	char before[128] = "";
	struct completion_query q = { .flag = l.flag,
				      .so_far = last,
				      .before = before,
				      .argv = argv,
				      .argc = MAX(argc - 1, 0) };

	if (!q.flag && equals > 0) {
		q.flag = completion_flag(l.command->flags, last);
		if (q.flag) {
			(void)snprintf(before, sizeof(before), "%.*s=", (int)equals, last.p);
			q.so_far = str_skip(last, (size_t)equals + 1);
		}
	}
	if (q.flag)
		offer_value(cli, out, &q);
	else if (str_starts(last, STR("-")))
		offer_flags(out, l.command, last);
	else
		offer_operand(cli, out, &l, &q);
}
