/*
 * The bash script: one function that finds the command by its words, then two generated `case`
 * tables: what may follow a command, and what may follow a flag. Our names are plain ASCII words,
 * so nothing needs quoting.
 */
#include "cli/program/completion.h"

/* One word of the path: a line of the case that follows the typed words. */
static void add_step(void *ctx, const struct command *c, const char *path)
{
	if (strchr(path, ' ') && c->name)
		(void)buf_printf(ctx, "\t\t'%s') path+=\" ${COMP_WORDS[i]}\" ;;\n", path);
}

/* The words that may follow a command. */
static void add_words(void *ctx, const struct command *c, const char *path)
{
	struct buf *out = ctx;

	(void)buf_printf(out, "\t'%s')\n\t\tcommands='", path);
	for (const struct command *const *sub = c->subcommands; sub && *sub; sub++)
		if (!(*sub)->hidden)
			(void)buf_printf(out, " %s", (*sub)->name);
	(void)buf_addz(out, "'\n\t\tflags='");
	for (const struct flag *flag = c->flags; flag && flag->name; flag++)
		(void)buf_printf(out, " --%s", flag->name);
	(void)buf_addz(out, " --help'\n\t\t;;\n");
}

/* The values of a flag, and the types that may follow a command. */
static void add_values(void *ctx, const struct command *c, const char *path)
{
	struct buf *out = ctx;

	if (c->types) {
		(void)buf_printf(out, "\t'%s %s') [[ $cur == -* ]] || { kind=types words='", path,
				 c->name);
		completion_add_types(out);
		(void)buf_addz(out, "'; } ;;\n");
	}
	for (const struct flag *flag = c->flags; flag && flag->name; flag++) {
		if (!flags_wants_value(flag))
			continue;
		(void)buf_printf(out, "\t'%s --%s'", path, flag->name);
		if (flag->letter)
			(void)buf_printf(out, " | '%s -%c'", path, flag->letter);
		(void)buf_addz(out, ") kind=");
		if (completion_values(flag)) {
			(void)buf_addz(out, "words words='");
			completion_add_values(out, flag);
			(void)buf_addc(out, '\'');
		} else {
			(void)buf_addz(out, completion_wants_path(flag)   ? "files"
					    : completion_wants_name(flag) ? "names"
									  : "none");
		}
		(void)buf_addz(out, " ;;\n");
	}
	if (c->types || c->names)
		(void)buf_printf(out, "\t'%s '*) [[ $cur == -* ]] || kind=names ;;\n", path);
}

void completion_bash(const struct command *root, struct buf *out)
{
	const char *name = root->name;

	(void)buf_printf(
		out,
		"# bash completion for %s, made by '%s completion bash'.\n"
		"_%s() {\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
		"\tlocal path=%s kind=words words= commands= flags= i\n"
		"\n"
		"\t# bash makes three words of --flag=value.\n"
		"\tif [[ $cur == '=' ]]; then\n"
		"\t\tcur=\n"
		"\telif [[ $prev == '=' ]]; then\n"
		"\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
		"\tfi\n"
		"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		"\t\tcase \"$path ${COMP_WORDS[i]}\" in\n"
		"\t\t'%s help') ;; # its words are a command's\n",
		name, name, name, name, name);
	command_walk(root, add_step, out);
	(void)buf_addz(out, "\t\tesac\n\tdone\n\tcase $path in\n");
	command_walk(root, add_words, out);
	(void)buf_addz(out, "\tesac\n"
			    "\t[[ $cur == -* ]] && words=$flags || words=$commands\n"
			    "\tcase \"$path $prev\" in\n");
	command_walk(root, add_values, out);
	(void)buf_printf(out,
			 "\tesac\n"
			 "\t[[ $kind == types && $cur == */* ]] && kind=names\n"
			 "\tcase $kind in\n"
			 "\tnames)\n"
			 "\t\tlocal -a line=()\n"
			 "\t\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
			 "\t\t\t[[ ${COMP_WORDS[i]} == '=' ]] || line+=(\"${COMP_WORDS[i]}\")\n"
			 "\t\tdone\n"
			 "\t\twords=$(%s __complete \"${line[@]}\" \"$cur\" 2>/dev/null)\n"
			 "\t\tmapfile -t COMPREPLY < <(sed '$d; s/\\t.*//' <<<\"$words\")\n"
			 "\t\t;;\n"
			 "\ttypes) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
			 "\twords) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
			 "\tfiles)\n"
			 "\t\tcompopt -o filenames 2>/dev/null\n"
			 "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
			 "\t\t;;\n"
			 "\tnone) COMPREPLY=() ;;\n"
			 "\tesac\n"
			 "}\n"
			 "complete -F _%s %s\n",
			 name, name, name);
}
