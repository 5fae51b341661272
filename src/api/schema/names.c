/*
 * Formats of names that the API has beyond those of base/names.h. A check fills a list of faults,
 * because upstream reports length and form separately. The public functions return the first one.
 */
#include "api/schema/names.h"

/* Upstream lowers the text first, so its messages speak of lower case. */
static void subdomain_caseless_faults(struct str s, struct names_faults *f)
{
	if (s.n > NAMES_SUBDOMAIN_MAX)
		names_add_fault(f, "must be no more than 253 characters");
	if (!names_is_subdomain(s, NAMES_ALNUM))
		names_add_fault(f, NAMES_SUBDOMAIN_FAULT);
}

static void c_identifier_faults(struct str s, struct names_faults *f)
{
	if (!names_shaped(s, NAMES_ALPHA | NAMES_UNDERSCORE, NAMES_ALNUM | NAMES_UNDERSCORE,
			  NAMES_ALNUM | NAMES_UNDERSCORE))
		names_add_fault(
			f, "a valid C identifier must start with alphabetic character or '_', "
			   "followed "
			   "by a string of alphanumeric characters or '_' (e.g. 'my_name',  or "
			   "'MY_NAME',  or 'MyName', regex used for validation is "
			   "'[A-Za-z_][A-Za-z0-9_]*')");
}

static void identifier_faults(struct str s, struct names_faults *f)
{
	if (s.n > NAMES_IDENTIFIER_MAX)
		names_add_fault(f, "may not be more than 32 bytes");
	c_identifier_faults(s, f);
}

/* More than one slash is accepted, as upstream does. */
static void attribute_faults(struct str s, struct names_faults *f)
{
	ptrdiff_t slash = str_chr(s, '/');
	struct str domain = str_of(s.p, slash < 0 ? 0 : (size_t)slash);
	struct str name = slash < 0 ? s : str_skip(s, (size_t)slash + 1);

	if (slash < 0) {
		identifier_faults(s, f);
		return;
	}
	if (str_chr(name, '/') >= 0)
		return;
	if (domain.n == 0)
		names_add_fault(f, "the domain must not be empty");
	else if (domain.n > NAMES_DRIVER_MAX)
		names_add_fault(f, "may not be more than 63 bytes");
	if (domain.n && !names_is_subdomain(domain, NAMES_ALNUM))
		names_add_fault(f, NAMES_SUBDOMAIN_FAULT);
	if (name.n == 0)
		names_add_fault(f, "the name must not be empty");
	else
		identifier_faults(name, f);
}

static void full_attribute_faults(struct str s, struct names_faults *f)
{
	attribute_faults(s, f);
	if (str_chr(s, '/') < 0)
		names_add_fault(
			f,
			"a fully qualified name must be a domain and a name separated by a slash");
}

static void pool_faults(struct str s, struct names_faults *f)
{
	struct str rest = s, part;

	if (s.n > NAMES_SUBDOMAIN_MAX)
		names_add_fault(f, "may not be more than 253 bytes");
	if (!s.p)
		names_subdomain_faults(s, f);
	while (str_split(&rest, '/', &part)) {
		size_t before = f->n;

		names_subdomain_faults(part, f);
		for (size_t i = before; i < f->n; i++)
			f->part[i] = part.p ? part : STR("");
	}
}

static void uuid_faults(struct str s, struct names_faults *f)
{
	bool fine = s.n == 36;

	for (size_t i = 0; i < s.n && fine; i++) {
		char c = s.p[i];

		if (i == 8 || i == 13 || i == 18 || i == 23)
			fine = c == '-';
		else
			fine = str_is_digit(c) || (c >= 'a' && c <= 'f');
	}
	if (!fine)
		names_add_fault(f, "must be a lowercase UUID in 8-4-4-4-12 format");
}

/* Checks dot-separated identifiers; with `strict_numbers`, numbers have no leading zeros. */
static bool are_identifiers(struct str s, unsigned classes, bool strict_numbers)
{
	struct str part;

	if (!s.p || s.n == 0)
		return false;
	while (str_split(&s, '.', &part)) {
		if (part.n == 0 || !names_all_of(part, classes))
			return false;
		if (strict_numbers && part.n > 1 && part.p[0] == '0' &&
		    names_all_of(part, NAMES_DIGIT))
			return false;
	}
	return true;
}

/* Cuts s at the first `c`. Returns the text after it; p NULL if not found. */
static struct str names_cut(struct str *s, char c)
{
	ptrdiff_t at = str_chr(*s, c);
	struct str rest;

	if (at < 0)
		return STR_NULL;
	rest = str_of(s->p + at + 1, s->n - (size_t)at - 1);
	s->n = (size_t)at;
	return rest;
}

static bool is_semver(struct str s)
{
	struct str build = names_cut(&s, '+');
	struct str pre = names_cut(&s, '-');
	size_t dots = 0;

	for (size_t i = 0; i < s.n; i++)
		dots += s.p[i] == '.';
	return dots == 2 && are_identifiers(s, NAMES_DIGIT, true) &&
	       (!pre.p || are_identifiers(pre, NAMES_ALNUM | NAMES_DASH, true)) &&
	       (!build.p || are_identifiers(build, NAMES_ALNUM | NAMES_DASH, false));
}

static void semver_faults(struct str s, struct names_faults *f)
{
	if (!is_semver(s))
		names_add_fault(f, "must be a string compatible with semver.org spec 2.0.0");
}

typedef void (*find_faults)(struct str s, struct names_faults *f);

static const find_faults formats[] = {
	[SCHEMA_FORMAT_DNS_LABEL] = names_label_faults,
	[SCHEMA_FORMAT_DNS_SUBDOMAIN] = names_subdomain_faults,
	[SCHEMA_FORMAT_DNS_SUBDOMAIN_CASELESS] = subdomain_caseless_faults,
	[SCHEMA_FORMAT_DNS1035_LABEL] = names_dns1035_faults,
	[SCHEMA_FORMAT_LABEL_KEY] = names_key_faults,
	[SCHEMA_FORMAT_LABEL_VALUE] = names_label_value_faults,
	[SCHEMA_FORMAT_QUALIFIED_NAME] = attribute_faults,
	[SCHEMA_FORMAT_FULLY_QUALIFIED_NAME] = full_attribute_faults,
	[SCHEMA_FORMAT_POOL_NAME] = pool_faults,
	[SCHEMA_FORMAT_UUID] = uuid_faults,
	[SCHEMA_FORMAT_SEMVER] = semver_faults,
	[SCHEMA_FORMAT_C_IDENTIFIER] = c_identifier_faults,
	[SCHEMA_FORMAT_CONDITION_TYPE] = names_key_faults,
};

void names_find_faults(enum schema_format format, struct str s, struct names_faults *ret_faults)
{
	ret_faults->n = 0;
	if ((size_t)format < ARRAY_SIZE(formats) && formats[format])
		formats[format](s, ret_faults);
}

static const char *first(find_faults find, struct str s)
{
	struct names_faults f = { .n = 0 };

	find(s, &f);
	return f.n ? f.text[0] : NULL;
}

const char *names_dns_label(struct str s)
{
	return first(names_label_faults, s);
}

const char *names_dns_subdomain(struct str s)
{
	return first(names_subdomain_faults, s);
}

const char *names_dns1035_label(struct str s)
{
	return first(names_dns1035_faults, s);
}

const char *names_qualified(struct str s)
{
	return first(names_key_faults, s);
}

const char *names_label_value(struct str s)
{
	return first(names_label_value_faults, s);
}

const char *names_path_segment(struct str s)
{
	if (str_eqz(s, "."))
		return "may not be '.'";
	if (str_eqz(s, ".."))
		return "may not be '..'";
	if (str_chr(s, '/') >= 0)
		return "may not contain '/'";
	if (str_chr(s, '%') >= 0)
		return "may not contain '%'";
	return NULL;
}

const char *names_c_identifier(struct str s)
{
	return first(c_identifier_faults, s);
}

const char *names_semver(struct str s)
{
	return first(semver_faults, s);
}

const char *names_uuid(struct str s)
{
	return first(uuid_faults, s);
}

const char *names_condition_reason(struct str s)
{
	struct str middle = s;
	bool fine = s.n > 0 && (names_class(s.p[0]) & NAMES_ALPHA) &&
		    (names_class(s.p[s.n - 1]) & (NAMES_ALNUM | NAMES_UNDERSCORE));

	for (size_t i = 0; i < middle.n && fine; i++) {
		char c = middle.p[i];

		fine = (names_class(c) & (NAMES_ALNUM | NAMES_UNDERSCORE)) || c == ',' || c == ':';
	}
	if (fine)
		return NULL;
	return "a condition reason must start with alphabetic character, optionally followed by a "
	       "string of alphanumeric characters or '_,:', and must end with an alphanumeric "
	       "character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or "
	       "'ReasonA,ReasonB', "
	       " or 'ReasonA:ReasonB', regex used for validation is "
	       "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";
}

const char *names_config_key(struct str s)
{
	if (s.n > NAMES_SUBDOMAIN_MAX)
		return "must be no more than 253 characters";
	if (s.n == 0 || !names_all_of(s, NAMES_ALNUM | NAMES_DASH | NAMES_DOT | NAMES_UNDERSCORE))
		return "a valid config key must consist of alphanumeric characters, '-', '_' or "
		       "'.' "
		       "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for "
		       "validation is "
		       "'[-._a-zA-Z0-9]+')";
	if (str_eqz(s, "."))
		return "must not be '.'";
	if (str_eqz(s, ".."))
		return "must not be '..'";
	return str_starts(s, STR("..")) ? "must not start with '..'" : NULL;
}

static bool has_letter(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (names_class(s.p[i]) & NAMES_LOWER)
			return true;
	}
	return false;
}

const char *names_port_name(struct str s)
{
	if (s.n > 15)
		return "must be no more than 15 characters";
	if (s.n == 0 || !names_all_of(s, NAMES_ALNUM_LOWER | NAMES_DASH))
		return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
	if (!has_letter(s))
		return "must contain at least one letter (a-z)";
	if (str_find(s, STR("--")) >= 0)
		return "must not contain consecutive hyphens";
	if (s.p[0] == '-' || s.p[s.n - 1] == '-')
		return "must not begin or end with a hyphen";
	return NULL;
}

const char *names_env(struct str s)
{
	if (s.n == 0)
		return "environment variable name must be non-empty";
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c < 0x20 || c > 0x7e || c == '=')
			return "a valid environment variable name must consist only of printable "
			       "ASCII characters other than '='";
	}
	return NULL;
}

const char *names_check(enum schema_format format, struct str s)
{
	struct names_faults f;

	names_find_faults(format, s, &f);
	return f.n ? f.text[0] : NULL;
}

/* A native resource has no slash or belongs to kubernetes.io; "requests." belongs to quotas. */
bool names_is_extended_resource(struct str s)
{
	char room[NAMES_SUBDOMAIN_MAX + NAMES_LABEL_MAX + 2];
	static const char quota[] = "requests.";

	if (str_chr(s, '/') < 0 || str_find(s, STR("kubernetes.io/")) >= 0 ||
	    str_starts(s, STR("requests.")) || s.n + sizeof(quota) > sizeof(room))
		return false;
	memcpy(room, quota, sizeof(quota) - 1);
	str_put(room + sizeof(quota) - 1, s);
	return !names_qualified(str_of(room, s.n + sizeof(quota) - 1));
}
