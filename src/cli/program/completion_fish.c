/*
 * The fish script: a function that prints the path of the command typed so
 * far, and one `complete` line per subcommand and flag, valid at that path.
 */
#include "cli/program/completion.h"

/* The program's name and the output. */
struct script {
	const char *name;
	struct buf *out;
};

static void add_quoted(struct buf *out, const char *text)
{
	(void)buf_addc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			(void)buf_addc(out, '\\');
		(void)buf_addc(out, *text);
	}
	(void)buf_addc(out, '\'');
}

static void add_step(void *ctx, const struct command *c, const char *path)
{
	struct script *s = ctx;

	if (c->name && strchr(path, ' '))
		(void)buf_printf(s->out, " '%s'", path);
}

static void add_flag(struct script *s, const struct flag *flag, const char *path)
{
	struct buf *out = s->out;

	(void)buf_printf(out, "complete -c %s -n '__%s_at \"%s\"' -l %s", s->name, s->name, path,
			 flag->name);
	if (flag->letter)
		(void)buf_printf(out, " -s %c", flag->letter);
	if (flags_wants_value(flag))
		(void)buf_addz(out, completion_wants_path(flag) ? " -r -F" : " -x");
	if (completion_wants_name(flag))
		(void)buf_printf(out, " -a '(__%s_names)'", s->name);
	if (completion_values(flag)) {
		(void)buf_addz(out, " -a '");
		completion_add_values(out, flag);
		(void)buf_addc(out, '\'');
	}
	(void)buf_addz(out, " -d ");
	add_quoted(out, flag->help);
	(void)buf_addc(out, '\n');
}

/* Directly after the command. */
static void add_types(struct script *s, const char *path)
{
	size_t words = 1;

	for (const char *p = path; *p; p++)
		words += *p == ' ';
	(void)buf_printf(s->out,
			 "complete -c %s -n '__%s_at \"%s\"; and test (count (commandline -opc)) "
			 "-eq %zu' -a '",
			 s->name, s->name, path, words);
	completion_add_types(s->out);
	(void)buf_printf(
		s->out,
		"'\ncomplete -c %s -n '__%s_at \"%s\"; and begin; test (count (commandline "
		"-opc)) -gt %zu; or string match -q \"*/*\" -- (commandline -ct); end' -a "
		"'(__%s_names)'\n",
		s->name, s->name, path, words, s->name);
}

static void add_command(void *ctx, const struct command *c, const char *path)
{
	struct script *s = ctx;

	for (const struct command *const *sub = c->subcommands; sub && *sub; sub++) {
		if ((*sub)->hidden)
			continue;
		(void)buf_printf(s->out, "complete -c %s -n '__%s_at \"%s\"' -a %s -d ", s->name,
				 s->name, path, (*sub)->name);
		add_quoted(s->out, (*sub)->summary);
		(void)buf_addc(s->out, '\n');
	}
	if (c->types)
		add_types(s, path);
	if (c->names)
		(void)buf_printf(s->out, "complete -c %s -n '__%s_at \"%s\"' -a '(__%s_names)'\n",
				 s->name, s->name, path, s->name);
	for (const struct flag *flag = c->flags; flag && flag->name; flag++)
		add_flag(s, flag, path);
	add_flag(s, &flags_help_row, path);
}

void completion_fish(const struct command *root, struct buf *out)
{
	struct script s = { .name = root->name, .out = out };

	(void)buf_printf(out,
			 "# fish completion for %s, made by '%s completion fish'.\n"
			 "function __%s_at -d 'whether the words typed name this command'\n"
			 "\tset -l path %s\n"
			 "\tset -l words (commandline -opc)\n"
			 "\tfor word in $words[2..-1]\n"
			 "\t\tswitch \"$path $word\"\n"
			 "\t\t\tcase '%s help' # its words are a command's\n"
			 "\t\t\tcase",
			 s.name, s.name, s.name, s.name, s.name);
	command_walk(root, add_step, &s);
	(void)buf_printf(out,
			 "\n\t\t\t\tset path \"$path $word\"\n"
			 "\t\tend\n"
			 "\tend\n"
			 "\ttest \"$path\" = \"$argv\"\n"
			 "end\n\n"
			 "function __%s_names -d 'names that the server knows'\n"
			 "\tset -l words (commandline -opc)\n"
			 "\t%s __complete $words[2..-1] (commandline -ct) 2>/dev/null | "
			 "string match -v ':*'\n"
			 "end\n\n"
			 "complete -c %s -f\n",
			 s.name, s.name, s.name);
	command_walk(root, add_command, &s);
}
