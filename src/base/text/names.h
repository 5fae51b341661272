/*
 * names - checks names and keys, with upstream's error messages.
 *
 * A check lists all faults at once, as k8s.io/apimachinery's validation package does: a name may be
 * both too long and badly formed. Nothing allocates; the messages are constants.
 */
#ifndef BASE_TEXT_NAMES_H
#define BASE_TEXT_NAMES_H

#include "base/core/str.h"

/* Lengths that several kinds share. */
enum {
	NAMES_LABEL_MAX = 63,
	NAMES_SUBDOMAIN_MAX = 253,
};

enum { NAMES_FAULTS_MAX = 4 };

struct names_faults {
	const char *text[NAMES_FAULTS_MAX];
	struct str part[NAMES_FAULTS_MAX]; /* the faulty part; p NULL: the whole name */
	size_t n;
};

/* Adds a fault, unless there are too many. */
void names_add_fault(struct names_faults *f, const char *text);

/* Each adds the faults that it finds. */
void names_label_faults(struct str s, struct names_faults *f); /* RFC 1123 */
void names_subdomain_faults(struct str s, struct names_faults *f);
void names_dns1035_faults(struct str s, struct names_faults *f);
void names_key_faults(struct str s, struct names_faults *f); /* label keys, qualified names */
void names_label_value_faults(struct str s, struct names_faults *f);

/*
 * A generateName converted to a name for checking, because upstream allows a prefix to end in a
 * dash. If it must change the text, it writes at most s.n bytes to `room`.
 */
struct str names_mask_prefix(struct str s, char *room);

/* --- for checks of other forms ------------------------------------------------------ */

/* Classes of characters. */
enum {
	NAMES_LOWER = 1,
	NAMES_UPPER = 2,
	NAMES_DIGIT = 4,
	NAMES_DASH = 8,
	NAMES_DOT = 16,
	NAMES_UNDERSCORE = 32,
	NAMES_ALNUM_LOWER = NAMES_LOWER | NAMES_DIGIT,
	NAMES_ALPHA = NAMES_LOWER | NAMES_UPPER,
	NAMES_ALNUM = NAMES_ALPHA | NAMES_DIGIT,
};

unsigned names_class(char c); /* 0: no class */
bool names_all_of(struct str s, unsigned classes);
/* Whether s is not empty, starts with a `first`, ends with a `last`, and all are `inner`. */
bool names_shaped(struct str s, unsigned first, unsigned inner, unsigned last);
/* Labels of letters and digits of the class `alnum`, separated by dots. */
bool names_is_subdomain(struct str s, unsigned alnum);

#define NAMES_LABEL_FMT     "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define NAMES_SUBDOMAIN_FMT NAMES_LABEL_FMT "(\\." NAMES_LABEL_FMT ")*"
#define NAMES_SUBDOMAIN_FAULT                                                                     \
	"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' " \
	"or '.', and must start and end with an alphanumeric character (e.g. 'example.com', "     \
	"regex used for validation is '" NAMES_SUBDOMAIN_FMT "')"

#endif
