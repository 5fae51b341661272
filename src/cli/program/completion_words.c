/*
 * Completion at run time, as kubectl requests it. The words select a command in the table; a flag
 * that takes a value consumes the next word. A word that is not a command is an operand.
 */
#include "cli/program/completion.h"

#include "base/core/limits.h"

static const char files_may_follow[] = ":0\n", nothing_else[] = ":4\n";

/* The flag that a word names as "--name" or "-n"; or NULL. */
static const struct flag *flag_of(const struct command *c, struct str word)
{
	for (const struct flag *f = c->flags; f && f->name; f++) {
		if (str_starts(word, STR("--")) && str_eqz(str_skip(word, 2), f->name))
			return f;
		if (f->letter && word.n == 2 && word.p[0] == '-' && word.p[1] == f->letter)
			return f;
	}
	return NULL;
}

static void offer(struct buf *out, struct str so_far, const char *before, struct str word,
		  const char *what)
{
	if (!str_starts(word, so_far))
		return;
	(void)buf_printf(out, "%s%.*s", before, STR_ARG(word));
	if (what)
		(void)buf_printf(out, "\t%s", what);
	(void)buf_addc(out, '\n');
}

/* `before` is the part of the word before the value: "--output=", or "". */
static void offer_values(struct buf *out, const struct flag *f, const char *before,
			 struct str so_far)
{
	struct str rest = str_from(completion_values(f)), value;

	while (str_split(&rest, '|', &value))
		offer(out, so_far, before, value, NULL);
	(void)buf_addz(out, completion_wants_path(f) ? files_may_follow : nothing_else);
}

static void offer_flags(struct buf *out, const struct command *c, struct str so_far)
{
	struct str name = str_skip(so_far, MIN(so_far.n, (size_t)2));

	for (const struct flag *f = c->flags; f && f->name; f++)
		offer(out, name, "--", str_from(f->name), f->help);
	offer(out, name, "--", str_from(flags_help_row.name), flags_help_row.help);
	(void)buf_addz(out, nothing_else);
}

static void offer_commands(struct buf *out, const struct command *c, struct str so_far)
{
	for (const struct command *const *sub = c->subcommands; sub && *sub; sub++)
		if (!(*sub)->hidden)
			offer(out, so_far, "", str_from((*sub)->name), (*sub)->summary);
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
		offer(out, str_skip(so_far, before.n), done, type, NULL);
	(void)buf_addz(out, nothing_else);
}

/*
 * The command that the complete words name. *ret_flag is a flag that waits for a value, or NULL.
 * *ret_operands counts the other words.
 */
static const struct command *completion_words_follow(const struct command *root, int argc,
						     char *const *argv,
						     const struct flag **ret_flag,
						     size_t *ret_operands)
{
	const struct command *c = root, *sub;

	*ret_flag = NULL;
	*ret_operands = 0;
	for (int i = 0; i < argc; i++) {
		struct str word = str_from(argv[i]);

		if (*ret_flag) {
			*ret_flag = NULL;
			continue;
		}
		*ret_flag = flag_of(c, word);
		if (*ret_flag && !flags_wants_value(*ret_flag))
			*ret_flag = NULL;
		sub = command_find(c, word);
		if (sub && !str_eqz(word, "help")) /* the words after `help` name a command */
			c = sub;
		else if (!str_starts(word, STR("-")))
			++*ret_operands;
	}
	return c;
}

void completion_words(const struct command *root, int argc, char *const *argv, struct buf *out)
{
	struct str last = argc > 0 ? str_from(argv[argc - 1]) : STR_NULL, name;
	const struct flag *flag;
	size_t operands;
	const struct command *c = completion_words_follow(root, MAX(argc - 1, 0), argv, &flag,
							  &operands);
	ptrdiff_t equals = str_chr(last, '=');
	char before[128];

	if (flag) {
		offer_values(out, flag, "", last);
		return;
	}
	name = equals > 0 ? str_of(last.p, (size_t)equals) : STR_NULL;
	flag = name.n ? flag_of(c, name) : NULL;
	if (flag) {
		(void)snprintf(before, sizeof(before), "%.*s=", STR_ARG(name));
		offer_values(out, flag, before, str_skip(last, name.n + 1));
	} else if (str_starts(last, STR("-"))) {
		offer_flags(out, c, last);
	} else if (c->types && operands == 0) {
		offer_types(out, last);
	} else {
		offer_commands(out, c, last);
	}
}
