/*
 * flags - the command line of every role, parsed from a table.
 *
 *	struct greet_options {
 *		const char *name;
 *		int64_t times;
 *	};
 *	static const struct flag greet_flags[] = {
 *		{ "name", 'n', FLAG_STRING(struct greet_options, name), .arg = "NAME",
 *		  .help = "whom to greet", .required = true },
 *		{ "times", 0, FLAG_INT(struct greet_options, times), .arg = "COUNT",
 *		  .help = "how often", .initial = "1", .min = 1, .max = 100 },
 *		{ NULL },
 *	};
 *
 * Flags are written as in GNU programs and kubectl: --name VALUE, --name=VALUE, -n VALUE, -nVALUE,
 * -n=VALUE. Booleans, and other flags that need no value, are written --watch or --watch=false;
 * letters of booleans may share a dash. Flags and operands may be mixed; everything after "--" is
 * an operand. If a flag is repeated, the last value counts; lists add up. --help and -h always
 * exist.
 *
 * Nothing here prints or exits. Texts are borrowed from argv and from the table; lists are in the
 * caller's arena.
 */
#ifndef BASE_SYSTEM_FLAGS_H
#define BASE_SYSTEM_FLAGS_H

#include "base/core/arena.h"
#include "base/core/buf.h"

enum flag_kind {
	FLAG_KIND_BOOL,
	FLAG_KIND_STRING,
	FLAG_KIND_INT,
	FLAG_KIND_DURATION, /* as Go writes them: "15s", "1h30m", "300ms" */
	FLAG_KIND_LIST, /* given repeatedly, or separated by commas */
	FLAG_KIND_REPEAT, /* given repeatedly; a comma is part of the value */
};

/* The values of a list or repeated flag, and the operands. Texts are NUL-terminated. */
struct flag_list {
	const char **v;
	size_t n;
};

/* One row; a table ends with a row that has no name. */
struct flag {
	const char *name; /* without the dashes */
	char letter; /* the short form, or 0 */
	enum flag_kind kind; /* kind and offset are set by FLAG_BOOL and the like */
	size_t offset;
	const char *arg; /* name of the value in help texts: "FILE", "PORT" */
	const char *choices; /* "text|json": the only values allowed; NULL: any */
	const char *usual; /* the same for values that are only suggested by completion; or NULL */
	const char *initial; /* the default value, as text */
	const char *alone; /* the value without "=VALUE"; a value then needs "="; or NULL */
	const char *help;
	int64_t min, max; /* bounds of an integer or of nanoseconds; both 0: no bounds */
	bool required;
	bool seconds; /* a duration may be a plain number of seconds */
};

/* Sets kind and offset of an option together, so that they cannot disagree. */
#define FLAG_BOOL(type, member)     FLAG_OPTION(BOOL, type, member, bool)
#define FLAG_STRING(type, member)   FLAG_OPTION(STRING, type, member, const char *)
#define FLAG_INT(type, member)      FLAG_OPTION(INT, type, member, int64_t)
#define FLAG_DURATION(type, member) FLAG_OPTION(DURATION, type, member, int64_t) /* nanoseconds */
#define FLAG_LIST(type, member)     FLAG_OPTION(LIST, type, member, struct flag_list)
#define FLAG_REPEAT(type, member)   FLAG_OPTION(REPEAT, type, member, struct flag_list)

/* If the member has the wrong type, this is an array of negative size, which does not compile. */
#define FLAG_OPTION(suffix, type, member, want) \
	.kind = FLAG_KIND_##suffix,             \
	.offset = offsetof(type, member) * sizeof(char[FLAG_IS(type, member, want) ? 1 : -1])
#define FLAG_IS(type, member, want) \
	__builtin_types_compatible_p(__typeof__(((type *)NULL)->member), want)

/* One parse: fill in the first three, call flags_parse, read the rest. */
struct flags {
	const struct flag *table; /* NULL: only --help */
	void *options; /* the struct that the table's offsets are in */
	struct arena *arena; /* must outlive the options' lists and the operands */

	struct flag_list operands; /* arguments that are not flags, in order */
	bool help; /* --help or -h was given; required flags were not checked */
};

/*
 * Sets every option to its default, then to the values in argv (argv[0] is the first argument, not
 * the program). Returns -ERR_BAD_REQUEST with the flag, the reason and, for a mistyped flag, a
 * suggestion; some options may be set then.
 */
int flags_parse(struct flags *f, int argc, char *const *argv, struct error *err);

/* The row of --help, which is not in tables but which every command has. */
extern const struct flag flags_help_row;

/* The same, without its letter if a flag of the table uses that. */
struct flag flags_help_of(const struct flag *table);

/* Whether the next argument is the flag's value, if none is attached. */
bool flags_wants_value(const struct flag *flag);

/* Appends the name of the flag's value, such as "FILE" or "URL,.."; nothing for a boolean. */
void flags_value(const struct flag *flag, struct buf *out);

/* Appends its help with "(required)" or its default. */
void flags_about(const struct flag *flag, struct buf *out);

/* Appends the table as aligned text, --help included, wrapped to `width`. */
void flags_help(const struct flag *table, size_t width, struct buf *out);

#endif
