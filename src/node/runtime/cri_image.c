/*
 * The grammar of names is that of the distribution project's references: an optional host,
 * lower-case path components, an optional tag and an optional digest. The first component is a host
 * if it has a dot or a port, is "localhost", or has an upper-case letter.
 */
#include "node/runtime/cri_image.h"

enum { NAME_MAX_BYTES = 255, TAG_MAX_BYTES = 128 };

/* Prefix of a path of one component on the hub. */
#define LIBRARY "library/"

struct parts {
	struct str host, path, tag, digest;
	bool hub, library;
};

static bool is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Letters and digits, joined by one of ".", "_", "__" or any number of "-". */
static bool is_component(struct str s)
{
	size_t i = 0;

	for (;;) {
		size_t from = i, joint;

		while (i < s.n && is_lower(s.p[i]))
			i++;
		if (i == from)
			return false;
		if (i == s.n)
			return true;
		joint = i;
		while (i < s.n && s.p[i] == s.p[joint] && !is_lower(s.p[i]))
			i++;
		if (s.p[joint] == '-')
			continue;
		if (s.p[joint] != '.' && s.p[joint] != '_')
			return false;
		if (i - joint > (s.p[joint] == '_' ? 2U : 1U))
			return false;
	}
}

static bool is_path(struct str s)
{
	struct str piece;

	while (str_split(&s, '/', &piece)) {
		if (!is_component(piece))
			return false;
	}
	return true;
}

static bool is_host(struct str s)
{
	bool bracket = s.n > 0 && s.p[0] == '[';

	for (size_t i = 0; i < s.n; i++) {
		bool inside = bracket && (s.p[i] == '[' || s.p[i] == ']');

		if (!str_is_alnum(s.p[i]) && s.p[i] != '.' && s.p[i] != '-' && s.p[i] != ':' &&
		    !inside)
			return false;
	}
	return s.n > 0 && s.p[0] != '.' && s.p[0] != '-' && s.p[0] != ':' && s.p[s.n - 1] != ':';
}

static bool is_tag(struct str s)
{
	if (s.n == 0 || s.n > TAG_MAX_BYTES || (!str_is_alnum(s.p[0]) && s.p[0] != '_'))
		return false;
	for (size_t i = 1; i < s.n; i++) {
		if (!str_is_alnum(s.p[i]) && s.p[i] != '_' && s.p[i] != '.' && s.p[i] != '-')
			return false;
	}
	return true;
}

/* Words that begin with a letter, joined by one of "+", ".", "-" or "_". */
static bool is_algorithm(struct str s)
{
	bool begins = true;

	for (size_t i = 0; i < s.n; i++) {
		bool joint = s.p[i] == '+' || s.p[i] == '.' || s.p[i] == '-' || s.p[i] == '_';

		if (!joint && !str_is_alnum(s.p[i]))
			return false;
		if (begins && !str_is_letter(s.p[i]))
			return false;
		begins = joint;
	}
	return !begins;
}

/* "sha256:" and 64 digits, or another algorithm with at least 32. */
static bool is_digest(struct str s)
{
	ptrdiff_t colon = str_chr(s, ':');
	struct str hex = str_skip(s, (size_t)colon + 1);

	if (colon <= 0 || !is_algorithm(str_of(s.p, (size_t)colon)) || hex.n < 32 ||
	    (str_starts(s, STR("sha256:")) && hex.n != 64))
		return false;
	for (size_t i = 0; i < hex.n; i++) {
		if (str_hex_digit(hex.p[i]) < 0)
			return false;
	}
	return true;
}

static bool cri_image_split(struct str s, struct parts *ret)
{
	struct parts p = { 0 };
	ptrdiff_t at = str_chr(s, '@'), slash;
	struct str first;

	if (at >= 0) {
		p.digest = str_skip(s, (size_t)at + 1);
		s.n = (size_t)at;
		if (!is_digest(p.digest))
			return false;
	}
	for (size_t i = s.n; i-- > 0 && s.p[i] != '/';) {
		if (s.p[i] != ':')
			continue;
		p.tag = str_skip(s, i + 1);
		s.n = i;
		if (!is_tag(p.tag))
			return false;
		break;
	}
	slash = str_chr(s, '/');
	first = slash > 0 ? str_of(s.p, (size_t)slash) : STR_NULL;
	if (first.n > 0 && (str_chr(first, '.') >= 0 || str_chr(first, ':') >= 0 ||
			    str_eqz(first, "localhost") || !is_component(first))) {
		p.host = first;
		s = str_skip(s, first.n + 1);
		if (!is_host(p.host))
			return false;
	}
	p.path = s;
	p.hub = p.host.n == 0 || str_eqz(p.host, "index.docker.io") || str_eqz(p.host, "docker.io");
	p.library = p.hub && str_chr(p.path, '/') < 0;
	*ret = p;
	/* The limit applies to the whole path as the registry sees it. */
	return s.n > 0 && s.n + (p.library ? strlen(LIBRARY) : 0) <= NAME_MAX_BYTES && is_path(s);
}

static int cri_image_parse(struct str image, struct parts *ret, struct error *err)
{
	if (!cri_image_split(image, ret))
		return error_set(
			err, ERR_INVALID,
			"Failed to apply default image tag \"%.*s\": couldn't parse image name "
			"\"%.*s\": invalid reference format",
			STR_ARG(image), STR_ARG(image));
	return 0;
}

int cri_image_name(struct str image, struct arena *a, struct str *ret_name, struct error *err)
{
	struct parts p;
	int r = cri_image_parse(image, &p, err);

	if (r < 0)
		return r;
	if (p.tag.n > 0 || p.digest.n > 0)
		*ret_name = arena_str(a, image);
	else
		*ret_name = str_from(arena_printf(a, "%.*s:latest", STR_ARG(image)));
	return 0;
}

int cri_image_full(struct str image, struct arena *a, struct str *ret_name, struct error *err)
{
	struct parts p;
	int r = cri_image_parse(image, &p, err);

	if (r < 0)
		return r;
	if (p.tag.n == 0 && p.digest.n == 0)
		p.tag = STR("latest");
	*ret_name = str_from(arena_printf(
		a, "%.*s/%s%.*s%s%.*s%s%.*s", STR_ARG(p.hub ? STR("docker.io") : p.host),
		p.library ? LIBRARY : "", STR_ARG(p.path), p.tag.n > 0 ? ":" : "", STR_ARG(p.tag),
		p.digest.n > 0 ? "@" : "", STR_ARG(p.digest)));
	return 0;
}
