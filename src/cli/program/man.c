/*
 * Sections are in the order of man-pages(7); empty ones are left out. Only the macros of man(7)
 * are used, so that groff and mandoc show the same.
 */
#include "cli/program/man.h"

#include "base/core/limits.h"
#include "base/time/timestamp.h"
#include "cli/program/man_roff.h"

/* The state of one page. */
struct page {
	const struct man_opts *o;
	const struct command *c, *parent; /* parent: NULL for the root */
	struct buf path, parent_path; /* words separated by blanks */
	struct buf *out;
};

static void man_add_name(struct buf *out, const char *path)
{
	for (const char *p = path; *p; p++)
		(void)buf_addc(out, *p == ' ' ? '-' : *p);
}

void man_file(const char *path, struct buf *out)
{
	man_add_name(out, path);
	(void)buf_addz(out, ".1");
}

static void add_title(struct page *p)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(KIB);
	char date[TIMESTAMP_SIZE];

	man_add_name(&name, p->path.p);
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] >= 'a' && name.p[i] <= 'z')
			name.p[i] = (char)(name.p[i] - 'a' + 'A');
	(void)timestamp_print(p->o->date * INT64_C(1000000000), TIMESTAMP_SECONDS, date);
	(void)buf_addz(p->out, ".TH ");
	man_roff_literal(p->out, buf_str(&name));
	(void)buf_printf(p->out, " 1 \"%.10s\" \"%s %s\" \"User Commands\"\n", date,
			 p->o->root->name, p->o->version);
}

static void add_section(struct page *p, const char *title)
{
	(void)buf_printf(p->out, ".SH %s\n", title);
}

static void add_names(struct page *p)
{
	CLEANUP(buf_release) struct buf name = BUF_INIT(KIB);

	man_add_name(&name, p->path.p);
	add_section(p, "NAME");
	man_roff_literal(p->out, buf_str(&name));
	(void)buf_addz(p->out, " \\- ");
	man_roff_literal(p->out, str_from(p->c->summary));
	(void)buf_addc(p->out, '\n');
	add_section(p, "SYNOPSIS");
	(void)buf_addz(p->out, ".B ");
	man_roff_literal(p->out, buf_str(&p->path));
	(void)buf_addc(p->out, '\n');
	man_roff_usage(p->out, str_from(command_usage(p->c)));
}

/* Without a description, the summary is used as a sentence. */
static void add_description(struct page *p)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);

	add_section(p, "DESCRIPTION");
	if (p->c->about) {
		man_roff_prose(p->out, str_from(p->c->about));
		return;
	}
	(void)buf_printf(&text, "%s.", p->c->summary);
	if (text.p[0] >= 'a' && text.p[0] <= 'z')
		text.p[0] = (char)(text.p[0] - 'a' + 'A');
	man_roff_prose(p->out, buf_str(&text));
}

static void add_item(struct page *p, const char *name, const char *text)
{
	(void)buf_addz(p->out, ".TP\n.B ");
	man_roff_literal(p->out, str_from(name));
	(void)buf_addc(p->out, '\n');
	man_roff_prose(p->out, str_from(text));
}

static void add_commands(struct page *p)
{
	if (!p->c->subcommands)
		return;
	add_section(p, "COMMANDS");
	for (const struct command *const *sub = p->c->subcommands; *sub; sub++)
		if (!(*sub)->hidden)
			add_item(p, (*sub)->name, (*sub)->summary);
}

static void add_flag(struct page *p, const struct flag *flag)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);

	(void)buf_addz(p->out, ".TP\n");
	if (flag->letter)
		(void)buf_printf(p->out, "\\fB\\-%c\\fP, ", flag->letter);
	(void)buf_addz(p->out, "\\fB\\-\\-");
	man_roff_literal(p->out, str_from(flag->name));
	(void)buf_addz(p->out, "\\fP");
	if (flag->kind != FLAG_KIND_BOOL) {
		flags_value(flag, &text);
		(void)buf_addz(p->out, flag->alone ? "\\fI" : " \\fI");
		man_roff_literal(p->out, buf_str(&text));
		(void)buf_addz(p->out, "\\fP");
	}
	(void)buf_addc(p->out, '\n');
	buf_clear(&text);
	flags_about(flag, &text);
	man_roff_prose(p->out, buf_str(&text));
}

static void add_flags(struct page *p)
{
	struct flag help = flags_help_of(p->c->flags);

	add_section(p, "OPTIONS");
	for (const struct flag *f = p->c->flags; f && f->name; f++)
		add_flag(p, f);
	add_flag(p, &help);
}

static void add_notes(struct page *p, const struct command_note *notes)
{
	for (; notes && notes->name; notes++)
		add_item(p, notes->name, notes->text);
}

static void add_exit_status(struct page *p)
{
	static const struct command_note usual[] = {
		{ "0", "success" },
		{ "1", "failure; a message on standard error says why" },
		{ NULL },
	};

	add_section(p, "EXIT STATUS");
	add_notes(p, p->c->exit_status ? p->c->exit_status : usual);
	add_item(p, "2", "the command line is not valid; a message says why");
}

/* A command with this flag finds the API server as kubectl does. */
static bool reads_kubeconfig(const struct command *c)
{
	for (const struct flag *f = c->flags; f && f->name; f++)
		if (strcmp(f->name, "kubeconfig") == 0)
			return true;
	return false;
}

static void add_surroundings(struct page *p)
{
	static const struct command_note variables[] = {
		{ "KUBECONFIG", "kubeconfig files, separated by colons, which are merged" },
		{ "KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT",
		  "set in pods: the API server, used with the pod's service account if "
		  "there is no kubeconfig" },
		{ NULL },
	};
	static const struct command_note files[] = {
		{ "~/.kube/config", "the kubeconfig if neither flag nor variable names one" },
		{ NULL },
	};
	bool kubeconfig = reads_kubeconfig(p->c);

	if (kubeconfig || p->c->environment)
		add_section(p, "ENVIRONMENT");
	add_notes(p, kubeconfig ? variables : NULL);
	add_notes(p, p->c->environment);
	if (kubeconfig || p->c->files)
		add_section(p, "FILES");
	add_notes(p, kubeconfig ? files : NULL);
	add_notes(p, p->c->files);
}

static void add_examples(struct page *p)
{
	if (!p->c->examples)
		return;
	add_section(p, "EXAMPLES");
	(void)buf_addz(p->out, ".EX\n");
	man_roff_lines(p->out, str_from(p->c->examples));
	(void)buf_addz(p->out, ".EE\n");
}

/* A reference to the page of `path`, or of its subcommand `name`, in a list. */
static void add_reference(struct page *p, const char *path, const char *name, bool first)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);

	man_add_name(&text, path);
	if (name)
		(void)buf_printf(&text, "-%s", name);
	(void)buf_addz(p->out, first ? ".BR " : ",\n.BR ");
	man_roff_literal(p->out, buf_str(&text));
	(void)buf_addz(p->out, " (1)");
}

/* Lists the parent, siblings of the same group, and subcommands. */
static void add_see_also(struct page *p)
{
	const struct command *const *sub;
	bool first = true;

	add_section(p, "SEE ALSO");
	if (p->parent) {
		add_reference(p, p->parent_path.p, NULL, first);
		first = false;
	}
	for (sub = p->parent ? p->parent->subcommands : NULL; sub && *sub; sub++)
		if (*sub != p->c && (*sub)->group == p->c->group && !(*sub)->hidden)
			add_reference(p, p->parent_path.p, (*sub)->name, false);
	for (sub = p->c->subcommands; sub && *sub; sub++) {
		if ((*sub)->hidden)
			continue;
		add_reference(p, p->path.p, (*sub)->name, first);
		first = false;
	}
	(void)buf_addc(p->out, '\n');
}

static int man_find(struct page *p, const char *const *words, size_t n, struct error *err)
{
	const struct command *next;
	struct str guess;

	p->c = p->o->root;
	(void)buf_addz(&p->path, p->c->name);
	for (size_t i = 0; i < n; i++) {
		next = command_find(p->c, str_from(words[i]));
		guess = next ? STR_NULL : command_nearest(p->c, str_from(words[i]));
		if (!next && guess.n > 0)
			return error_set(err, ERR_NOT_FOUND,
					 "unknown command \"%s\"; did you mean \"%.*s\"?", words[i],
					 STR_ARG(guess));
		if (!next)
			return error_set(err, ERR_NOT_FOUND, "unknown command \"%s\"", words[i]);
		p->parent = p->c;
		buf_clear(&p->parent_path);
		(void)buf_add_str(&p->parent_path, buf_str(&p->path));
		(void)buf_printf(&p->path, " %s", next->name);
		p->c = next;
	}
	return 0;
}

int man_page(const struct man_opts *o, const char *const *words, size_t n, struct buf *out,
	     struct error *err)
{
	struct page p = { .o = o, .path = BUF_INIT(KIB), .parent_path = BUF_INIT(KIB), .out = out };
	int r = man_find(&p, words, n, err);

	if (r == 0) {
		add_title(&p);
		add_names(&p);
		add_description(&p);
		add_commands(&p);
		add_flags(&p);
		add_exit_status(&p);
		add_surroundings(&p);
		add_examples(&p);
		add_see_also(&p);
	}
	buf_release(&p.path);
	buf_release(&p.parent_path);
	return r;
}
