/*
 * A table of formats: a name, and the function that checks a text. Each is also a CEL function
 * without arguments, format.<name>().
 */
#include "cel/lib/format.h"

#include "base/time/date.h"
#include "cel/core/url.h"
#include "cel/lib/libraries.h"

static void label(struct str s, struct names_faults *f, struct error *err)
{
	names_label_faults(s, f);
}

static void subdomain(struct str s, struct names_faults *f, struct error *err)
{
	names_subdomain_faults(s, f);
}

static void dns1035_label(struct str s, struct names_faults *f, struct error *err)
{
	names_dns1035_faults(s, f);
}

static void qualified_name(struct str s, struct names_faults *f, struct error *err)
{
	names_key_faults(s, f);
}

static void label_value(struct str s, struct names_faults *f, struct error *err)
{
	names_label_value_faults(s, f);
}

/*
 * Names that do not fit into `room` are too long anyway, and have the same faults without a mask.
 */
static void prefix(struct str s, struct names_faults *f,
		   void (*find)(struct str s, struct names_faults *f))
{
	char room[NAMES_SUBDOMAIN_MAX + 2];

	find(s.n < sizeof(room) ? names_mask_prefix(s, room) : s, f);
}

static void label_prefix(struct str s, struct names_faults *f, struct error *err)
{
	prefix(s, f, names_label_faults);
}

static void subdomain_prefix(struct str s, struct names_faults *f, struct error *err)
{
	prefix(s, f, names_subdomain_faults);
}

static void dns1035_prefix(struct str s, struct names_faults *f, struct error *err)
{
	prefix(s, f, names_dns1035_faults);
}

/* The text of the fault is in *failure, which the caller keeps. */
static void uri(struct str s, struct names_faults *f, struct error *failure)
{
	if (cel_url_check(s, failure) < 0)
		names_add_fault(f, failure->msg);
}

/* In either case, and each dash may be missing. */
static bool is_uuid(struct str s)
{
	size_t digits = 0;

	for (size_t i = 0; i < s.n; i++) {
		bool place = digits == 8 || digits == 12 || digits == 16 || digits == 20;

		if (str_hex_digit(s.p[i]) >= 0)
			digits++;
		else if (s.p[i] != '-' || !place || s.p[i - 1] == '-')
			return false;
	}
	return digits == 32;
}

static void uuid(struct str s, struct names_faults *f, struct error *err)
{
	if (!is_uuid(s))
		names_add_fault(f, "does not match the UUID format");
}

/* In groups of four, padded; spare bits are not looked at. */
static bool is_base64(struct str s)
{
	size_t n = s.n;

	if (n == 0 || n % 4 != 0)
		return false;
	for (int i = 0; i < 2 && s.p[n - 1] == '='; i++)
		n--;
	for (size_t i = 0; i < n; i++) {
		if (!(names_class(s.p[i]) & NAMES_ALNUM) && s.p[i] != '+' && s.p[i] != '/')
			return false;
	}
	return true;
}

static void byte(struct str s, struct names_faults *f, struct error *err)
{
	if (!is_base64(s))
		names_add_fault(f, "invalid base64");
}

static void date(struct str s, struct names_faults *f, struct error *err)
{
	if (!date_is_valid(s))
		names_add_fault(f, "invalid date");
}

static void date_time(struct str s, struct names_faults *f, struct error *err)
{
	if (!date_time_is_valid(s))
		names_add_fault(f, "invalid datetime");
}

enum { DATE_PATTERN = 71, UUID_PATTERN = 70, BASE64_PATTERN = 84, URL_PATTERN = 1103 };

enum format {
	BYTE,
	DATE,
	DATE_TIME,
	DNS1035_LABEL,
	DNS1035_PREFIX,
	LABEL,
	LABEL_PREFIX,
	SUBDOMAIN,
	SUBDOMAIN_PREFIX,
	LABEL_VALUE,
	QUALIFIED_NAME,
	URI,
	UUID,
};

static const struct cel_named_format formats[] = {
	[BYTE] = { "byte", "byte", byte, BASE64_PATTERN },
	[DATE] = { "date", "date", date, DATE_PATTERN },
	[DATE_TIME] = { "datetime", "datetime", date_time, DATE_PATTERN },
	[DNS1035_LABEL] = { "dns1035Label", "DNS1035Label", dns1035_label, 30 },
	[DNS1035_PREFIX] = { "dns1035LabelPrefix", "DNS1035LabelPrefix", dns1035_prefix, 30 },
	[LABEL] = { "dns1123Label", "DNS1123Label", label, 30 },
	[LABEL_PREFIX] = { "dns1123LabelPrefix", "DNS1123LabelPrefix", label_prefix, 30 },
	[SUBDOMAIN] = { "dns1123Subdomain", "DNS1123Subdomain", subdomain, 60 },
	[SUBDOMAIN_PREFIX] = { "dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", subdomain_prefix,
			       60 },
	[LABEL_VALUE] = { "labelValue", "LabelValue", label_value, 40 },
	[QUALIFIED_NAME] = { "qualifiedName", "QualifiedName", qualified_name, 60 },
	[URI] = { "uri", "URI", uri, URL_PATTERN },
	[UUID] = { "uuid", "uuid", uuid, UUID_PATTERN },
};

const struct cel_named_format *cel_named_format_find(struct str function)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (str_eqz(function, formats[i].function))
			return &formats[i];
	}
	return NULL;
}

/* --- functions ---------------------------------------------------------------------- */

static struct cel_value format_wrap(const struct cel_named_format *format)
{
	return (struct cel_value){ .kind = CEL_FORMAT, .format = format };
}

static struct cel_value named(struct cel_eval *ev, const struct cel_value *args)
{
	const struct cel_named_format *format = cel_named_format_find(args[0].s);

	return format ? cel_optional(ev, format_wrap(format)) : cel_none();
}

static struct cel_value format_validate(struct cel_eval *ev, const struct cel_value *args)
{
	struct names_faults faults = { .n = 0 };
	struct cel_value *items;
	struct error err;

	args[0].format->find_faults(args[1].s, &faults, &err);
	if (faults.n == 0)
		return cel_none();
	items = cel_alloc(ev, faults.n * sizeof(*items));
	if (!items)
		return cel_too_large();
	for (size_t i = 0; i < faults.n; i++)
		items[i] = CEL_STRING_V(arena_str(ev->scratch, str_from(faults.text[i])));
	return cel_optional(ev, cel_list(ev, items, faults.n));
}

#define FORMAT(function, which)                                                             \
	static struct cel_value function(struct cel_eval *ev, const struct cel_value *args) \
	{                                                                                   \
		return format_wrap(&formats[which]);                                        \
	}

FORMAT(byte_format, BYTE)
FORMAT(date_format, DATE)
FORMAT(date_time_format, DATE_TIME)
FORMAT(dns1035_label_format, DNS1035_LABEL)
FORMAT(dns1035_prefix_format, DNS1035_PREFIX)
FORMAT(label_format, LABEL)
FORMAT(label_prefix_format, LABEL_PREFIX)
FORMAT(subdomain_format, SUBDOMAIN)
FORMAT(subdomain_prefix_format, SUBDOMAIN_PREFIX)
FORMAT(label_value_format, LABEL_VALUE)
FORMAT(qualified_name_format, QUALIFIED_NAME)
FORMAT(uri_format, URI)
FORMAT(uuid_format, UUID)

static const struct cel_type optional_format = {
	.kind = CEL_TYPE_OPTIONAL,
	.name = STR("optional_type"),
	.params = { &cel_format },
};

static const struct cel_type optional_faults = {
	.kind = CEL_TYPE_OPTIONAL,
	.name = STR("optional_type"),
	.params = { &cel_list_string },
};

#define ROW(name, function)                                                               \
	{                                                                                 \
		"format." name, "format." name, &cel_format, { NULL }, 0, false, function \
	}

static const struct cel_overload overloads[] = {
	ROW("byte", byte_format),
	ROW("date", date_format),
	ROW("datetime", date_time_format),
	ROW("dns1035Label", dns1035_label_format),
	ROW("dns1035LabelPrefix", dns1035_prefix_format),
	ROW("dns1123Label", label_format),
	ROW("dns1123LabelPrefix", label_prefix_format),
	ROW("dns1123Subdomain", subdomain_format),
	ROW("dns1123SubdomainPrefix", subdomain_prefix_format),
	ROW("labelValue", label_value_format),
	{ "format.named", "format-named", &optional_format, { &cel_string }, 1, false, named },
	ROW("qualifiedName", qualified_name_format),
	ROW("uri", uri_format),
	ROW("uuid", uuid_format),
	{ "validate",
	  "format-validate",
	  &optional_faults,
	  { &cel_format, &cel_string },
	  2,
	  true,
	  format_validate },
};

const struct cel_library cel_lib_format = {
	.name = "kubernetes.format",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
