/*
 * Upstream's checks are regular expressions over ASCII; here each is a loop over a table of
 * character classes, since names are checked on every write.
 *
 * Messages give lengths in "characters" in older checks, and in "bytes" in those for label keys and
 * values. That is upstream's inconsistency, and clients compare the text.
 */
#include "base/text/names.h"

unsigned names_class(char c)
{
	if (c >= 'a' && c <= 'z')
		return NAMES_LOWER;
	if (c >= '0' && c <= '9')
		return NAMES_DIGIT;
	if (c >= 'A' && c <= 'Z')
		return NAMES_UPPER;
	return c == '-' ? NAMES_DASH : c == '.' ? NAMES_DOT : c == '_' ? NAMES_UNDERSCORE : 0;
}

bool names_all_of(struct str s, unsigned classes)
{
	for (size_t i = 0; i < s.n; i++) {
		if (!(names_class(s.p[i]) & classes))
			return false;
	}
	return true;
}

/*
 * Whether s is not empty, starts with a `first`, ends with a `last`, and all characters are
 * `inner`.
 */
bool names_shaped(struct str s, unsigned first, unsigned inner, unsigned last)
{
	return s.n > 0 && (names_class(s.p[0]) & first) && (names_class(s.p[s.n - 1]) & last) &&
	       names_all_of(s, inner);
}

static bool is_label(struct str s, unsigned alnum)
{
	return names_shaped(s, alnum, alnum | NAMES_DASH, alnum);
}

bool names_is_subdomain(struct str s, unsigned alnum)
{
	struct str part;

	if (s.n == 0)
		return false;
	while (str_split(&s, '.', &part)) {
		if (!is_label(part, alnum))
			return false;
	}
	return true;
}

void names_add_fault(struct names_faults *f, const char *text)
{
	if (f->n == NAMES_FAULTS_MAX)
		return;
	f->part[f->n] = STR_NULL;
	f->text[f->n++] = text;
}

#define KEY_FMT "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define KEY_FAULT                                                                                 \
	"must consist of alphanumeric characters, '-', '_' or '.', and must start and end with "  \
	"an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for " \
	"validation is '" KEY_FMT "')"

void names_label_faults(struct str s, struct names_faults *f)
{
	if (s.n > NAMES_LABEL_MAX)
		names_add_fault(f, "must be no more than 63 characters");
	if (is_label(s, NAMES_ALNUM_LOWER))
		return;
	if (names_is_subdomain(s, NAMES_ALNUM_LOWER))
		names_add_fault(f, "must not contain dots");
	else
		names_add_fault(
			f,
			"a lowercase RFC 1123 label must consist of lower case alphanumeric "
			"characters or '-', and must start and end with an alphanumeric character "
			"(e.g. 'my-name',  or '123-abc', regex used for validation is "
			"'" NAMES_LABEL_FMT "')");
}

void names_subdomain_faults(struct str s, struct names_faults *f)
{
	if (s.n > NAMES_SUBDOMAIN_MAX)
		names_add_fault(f, "must be no more than 253 characters");
	if (!names_is_subdomain(s, NAMES_ALNUM_LOWER))
		names_add_fault(f, NAMES_SUBDOMAIN_FAULT);
}

void names_dns1035_faults(struct str s, struct names_faults *f)
{
	if (s.n > NAMES_LABEL_MAX)
		names_add_fault(f, "must be no more than 63 characters");
	if (!names_shaped(s, NAMES_LOWER, NAMES_ALNUM_LOWER | NAMES_DASH, NAMES_ALNUM_LOWER))
		names_add_fault(
			f, "a DNS-1035 label must consist of lower case alphanumeric characters or "
			   "'-', start with an alphabetic character, and end with an alphanumeric "
			   "character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
			   "'[a-z]([-a-z0-9]*[a-z0-9])?')");
}

static void key_prefix_faults(struct str prefix, struct names_faults *f)
{
	if (prefix.n == 0) {
		names_add_fault(f, "prefix part must be non-empty");
		return;
	}
	if (prefix.n > NAMES_SUBDOMAIN_MAX)
		names_add_fault(f, "prefix part must be no more than 253 bytes");
	if (!names_is_subdomain(prefix, NAMES_ALNUM_LOWER))
		names_add_fault(f, "prefix part " NAMES_SUBDOMAIN_FAULT);
}

void names_key_faults(struct str s, struct names_faults *f)
{
	ptrdiff_t slash = str_chr(s, '/');
	struct str name = s;

	if (slash >= 0) {
		name = str_skip(s, (size_t)slash + 1);
		if (str_chr(name, '/') >= 0) {
			names_add_fault(f, "a valid label key " KEY_FAULT
					   " with an optional DNS subdomain prefix and '/' (e.g. "
					   "'example.com/MyName')");
			return;
		}
		key_prefix_faults(str_of(s.p, (size_t)slash), f);
	}
	if (name.n == 0)
		names_add_fault(f, "name part must be non-empty");
	else if (name.n > NAMES_LABEL_MAX)
		names_add_fault(f, "name part must be no more than 63 bytes");
	if (!names_shaped(name, NAMES_ALNUM,
			  NAMES_ALNUM | NAMES_DASH | NAMES_DOT | NAMES_UNDERSCORE, NAMES_ALNUM))
		names_add_fault(f, "name part " KEY_FAULT);
}

void names_label_value_faults(struct str s, struct names_faults *f)
{
	if (s.n > NAMES_LABEL_MAX)
		names_add_fault(f, "must be no more than 63 bytes");
	if (s.n &&
	    !names_shaped(s, NAMES_ALNUM, NAMES_ALNUM | NAMES_DASH | NAMES_DOT | NAMES_UNDERSCORE,
			  NAMES_ALNUM))
		names_add_fault(
			f,
			"a valid label must be an empty string or consist of alphanumeric "
			"characters, '-', '_' or '.', and must start and end with an alphanumeric "
			"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
			"validation is '(" KEY_FMT ")?')");
}

/* Upstream puts an 'a' for the last two bytes, so a dash before the last is not looked at. */
struct str names_mask_prefix(struct str s, char *room)
{
	if (s.n < 2 || s.p[s.n - 1] != '-')
		return s;
	memcpy(room, s.p, s.n - 2);
	room[s.n - 2] = 'a';
	return str_of(room, s.n - 1);
}
