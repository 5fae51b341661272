/*
 * The zsh script: one function per command, based on _arguments. Flags are its option specs; a
 * command with subcommands passes the rest of the line to the function of the typed one.
 */
#include "cli/program/completion.h"

/* The name of the command's function: its words joined by underscores. */
static void add_function_name(struct buf *out, const char *path)
{
	(void)buf_addc(out, '_');
	for (; *path; path++)
		(void)buf_addc(out, *path == ' ' ? '_' : *path);
}

/* Text inside single quotes, with brackets and colons escaped, as specs require. */
static void completion_zsh_add_text(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'') {
			(void)buf_addz(out, "'\\''");
			continue;
		}
		if (strchr("[]:\\", *text))
			(void)buf_addc(out, '\\');
		(void)buf_addc(out, *text);
	}
}

/* The action that asks the program for names; the path is that of the command. */
static void add_names(struct buf *out, const char *path)
{
	const char *rest = strchr(path, ' ');

	(void)buf_printf(out, "{_%.*s_names%s}", (int)strcspn(path, " "), path, rest ? rest : "");
}

/* ":what:action" after an option that takes a value. */
static void completion_zsh_add_value(struct buf *out, const struct flag *flag, const char *path)
{
	(void)buf_printf(out, ":%s:", flag->arg ? flag->arg : "value");
	if (completion_values(flag)) {
		(void)buf_addc(out, '(');
		completion_add_values(out, flag);
		(void)buf_addc(out, ')');
	} else if (completion_wants_path(flag)) {
		(void)buf_addz(out, "_files");
	} else if (completion_wants_name(flag)) {
		add_names(out, path);
	} else {
		(void)buf_addc(out, ' ');
	}
}

static void add_flag(struct buf *out, const struct flag *flag, const char *path)
{
	bool value = flags_wants_value(flag);

	(void)buf_addz(out, "\t\t");
	if (flag->letter)
		(void)buf_printf(out, "'(-%c --%s)'{-%c%s,--%s%s}'", flag->letter, flag->name,
				 flag->letter, value ? "+" : "", flag->name, value ? "=" : "");
	else
		(void)buf_printf(out, "'--%s%s", flag->name, value ? "=" : "");
	(void)buf_addc(out, '[');
	completion_zsh_add_text(out, flag->help);
	(void)buf_addc(out, ']');
	if (value)
		completion_zsh_add_value(out, flag, path);
	(void)buf_addz(out, "' \\\n");
}

static void add_dispatch(struct buf *out, const struct command *c, const char *path)
{
	(void)buf_addz(out, "\tcase $state in\n\tcommand)\n\t\tcommands=(\n");
	for (const struct command *const *sub = c->subcommands; *sub; sub++) {
		if ((*sub)->hidden)
			continue;
		(void)buf_printf(out, "\t\t\t'%s:", (*sub)->name);
		completion_zsh_add_text(out, (*sub)->summary);
		(void)buf_addz(out, "'\n");
	}
	(void)buf_addz(out, "\t\t)\n\t\t_describe command commands\n\t\t;;\n"
			    "\trest)\n\t\tcase $line[1] in\n");
	for (const struct command *const *sub = c->subcommands; *sub; sub++) {
		if ((*sub)->hidden)
			continue;
		(void)buf_printf(out, "\t\t%s) ", (*sub)->name);
		add_function_name(out, path);
		(void)buf_printf(out, "_%s ;;\n", (*sub)->name);
	}
	(void)buf_addz(out, "\t\tesac\n\t\t;;\n\tesac\n");
}

static void add_function(void *ctx, const struct command *c, const char *path)
{
	struct buf *out = ctx;

	add_function_name(out, path);
	(void)buf_addz(out, "() {\n"
			    "\tlocal curcontext=$curcontext state line\n"
			    "\tlocal -a commands\n"
			    "\t_arguments -C \\\n");
	for (const struct flag *flag = c->flags; flag && flag->name; flag++)
		add_flag(out, flag, path);
	add_flag(out, &flags_help_row, path);
	if (c->subcommands) {
		(void)buf_addz(out, "\t\t'1: :->command' \\\n\t\t'*:: :->rest'\n");
		add_dispatch(out, c, path);
	} else if (c->types) {
		(void)buf_addz(out, "\t\t'1: :(");
		completion_add_types(out);
		(void)buf_addz(out, ")' \\\n\t\t'*: :");
		add_names(out, path);
		(void)buf_addz(out, "'\n");
	} else if (c->names) {
		(void)buf_addz(out, "\t\t'*: :");
		add_names(out, path);
		(void)buf_addz(out, "'\n");
	} else {
		(void)buf_printf(out, "\t\t'*: :%s'\n", c->operands_max ? "_files" : " ");
	}
	(void)buf_addz(out, "}\n\n");
}

void completion_zsh(const struct command *root, struct buf *out)
{
	const char *name = root->name;

	(void)buf_printf(
		out,
		"#compdef %s\n"
		"# zsh completion for %s, made by '%s completion zsh'.\n\n"
		"_%s_names() {\n"
		"\tlocal -a names\n"
		"\tnames=(${(f)\"$(%s __complete $@ $words[2,CURRENT-1] \"$words[CURRENT]\" "
		"2>/dev/null)\"})\n"
		"\tcompadd -- ${${names[1,-2]}%%%%$'\\t'*}\n"
		"}\n\n",
		name, name, name, name, name);
	command_walk(root, add_function, out);
	(void)buf_printf(out,
			 "# Loaded from $fpath this file is the function; sourced, it defines it.\n"
			 "if [[ $funcstack[1] == _%s ]]; then\n"
			 "\t_%s \"$@\"\n"
			 "else\n"
			 "\tcompdef _%s %s\n"
			 "fi\n",
			 name, name, name, name);
}
