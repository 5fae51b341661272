/*
 * Help is assembled in a buffer and written at once. Empty sections are left out, so one layout
 * serves the program itself, groups of commands and single ones.
 */
#include "cli/program/help.h"

#include "base/core/limits.h"
#include "base/text/columns.h"

enum { INDENT = 2 };

/* Far more than our own texts. */
#define HELP_MAX (1UL * MIB)

static const char *const group_titles[COMMAND_GROUPS] = {
	[COMMAND_CLUSTER] = "A whole cluster", [COMMAND_ROLE] = "Parts of a cluster",
	[COMMAND_OBJECT] = "Objects",          [COMMAND_TOOL] = "Tools",
	[COMMAND_ABOUT] = "About devplane",
};

/* The state of one help text. */
struct page {
	const struct cli *cli;
	const struct command *c;
	const char *path;
	struct buf out;
};

static void add_title(struct page *p, const char *title)
{
	bool colour = p->cli->out_colour;

	(void)buf_printf(&p->out, "\n%s%s:%s\n", colour ? "\033[1m" : "", title,
			 colour ? "\033[0m" : "");
}

static void add_group(struct page *p, enum command_group group, const struct columns *columns,
		      const char *title)
{
	bool any = false;

	for (const struct command *const *sub = p->c->subcommands; *sub; sub++) {
		if ((*sub)->hidden || (*sub)->group != group)
			continue;
		if (!any)
			add_title(p, title);
		any = true;
		columns_row(&p->out, columns, str_from((*sub)->name), str_from((*sub)->summary));
	}
}

/* Only the program's own commands are grouped; subcommands are one list. */
static void add_commands(struct page *p)
{
	struct columns columns = { .indent = INDENT, .width = p->cli->width };
	bool grouped = p->c == p->cli->root;

	if (!p->c->subcommands)
		return;
	for (const struct command *const *sub = p->c->subcommands; *sub; sub++)
		if (!(*sub)->hidden)
			columns.left = MAX(columns.left, strlen((*sub)->name));
	columns.left = columns_left(columns.indent, columns.left, columns.width);
	for (int group = 0; group < COMMAND_GROUPS; group++)
		add_group(p, (enum command_group)group, &columns,
			  grouped ? group_titles[group] : "Commands");
}

/* Examples begin with the words that run the program, which differ for a kubectl plugin. */
static void add_example(struct page *p, struct str line)
{
	struct str text = str_trim(line), root = str_from(p->cli->root->name);

	(void)buf_printf(&p->out, "%*s", line.n ? INDENT : 0, "");
	if (p->cli->program == p->cli->root->name || !str_starts(text, root) || text.n <= root.n ||
	    text.p[root.n] != ' ') {
		(void)buf_printf(&p->out, "%.*s\n", STR_ARG(line));
		return;
	}
	(void)buf_printf(&p->out, "%.*s%s%.*s\n", (int)(text.p - line.p), line.p, p->cli->program,
			 STR_ARG(str_skip(text, root.n)));
}

static void add_examples(struct page *p)
{
	struct str rest = str_from(p->c->examples), line;

	if (rest.n == 0)
		return;
	add_title(p, "Examples");
	while (str_split(&rest, '\n', &line))
		add_example(p, line);
}

static void add_notes(struct page *p, const char *title, const struct command_note *notes)
{
	struct columns columns = { .indent = INDENT, .width = p->cli->width };

	if (!notes)
		return;
	add_title(p, title);
	for (const struct command_note *n = notes; n->name; n++)
		columns.left = MAX(columns.left, columns_count(str_from(n->name)));
	columns.left = columns_left(columns.indent, columns.left, columns.width);
	for (const struct command_note *n = notes; n->name; n++)
		columns_row(&p->out, &columns, str_from(n->name), str_from(n->text));
}

static void add_hint(struct page *p)
{
	CLEANUP(buf_release) struct buf hint = BUF_INIT(HELP_MAX);

	(void)buf_printf(&hint, "\nRun '%s COMMAND --help' for more about a command.", p->path);
	columns_paragraph(&p->out, 0, p->cli->width, buf_str(&hint));
}

void help_print(const struct cli *cli, const struct command *c, const char *path)
{
	struct page p = { .cli = cli, .c = c, .path = path, .out = BUF_INIT(HELP_MAX) };

	(void)buf_printf(&p.out, "%s - %s\n", path, c->summary);
	if (c->about) {
		(void)buf_addc(&p.out, '\n');
		columns_paragraph(&p.out, 0, cli->width, str_from(c->about));
	}
	add_title(&p, "Usage");
	(void)buf_printf(&p.out, "%*s%s %s\n", INDENT, "", path, command_usage(c));
	add_commands(&p);
	add_title(&p, "Flags");
	flags_help(c->flags, cli->width, &p.out);
	add_notes(&p, "Exit status", c->exit_status);
	add_notes(&p, "Environment", c->environment);
	add_notes(&p, "Files", c->files);
	add_examples(&p);
	if (c->subcommands)
		add_hint(&p);
	(void)fwrite(p.out.p, 1, p.out.n, cli->out);
	buf_release(&p.out);
}
