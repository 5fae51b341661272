/*
 * Any other kind: the parts that all objects have, then the rest as YAML.
 */
#include <ctype.h>

#include "base/yaml/yaml.h"
#include "cli/cli_limits.h"
#include "cli/describe/describe.h"
#include "client/api/discovery.h"

static bool is_common(struct str key)
{
	return str_eqz(key, "apiVersion") || str_eqz(key, "kind") || str_eqz(key, "metadata");
}

/* "spec" becomes "Spec:". */
static void describe_member(struct describe *d, const struct json *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(CODEC_MAX);
	struct str rest, line, key = json_key(v);
	int first;

	if (yaml_print(&text, v, NULL, NULL) < 0 || key.n == 0)
		return;
	rest = buf_str(&text);
	first = (toupper)((unsigned char)key.p[0]);
	key = str_skip(key, 1);
	if (!json_is_container(v)) {
		describe_line(d, 0, "%c%.*s:\t%.*s", first, STR_ARG(key),
			      STR_ARG(str_of(rest.p, rest.n - 1)));
		return;
	}
	describe_line(d, 0, "%c%.*s:", first, STR_ARG(key));
	while (rest.n > 0 && str_split(&rest, '\n', &line)) {
		if (line.n > 0)
			describe_line(d, 1, "%.*s", STR_ARG(line));
	}
}

int describe_any(struct describe *d, struct error *err UNUSED)
{
	describe_line(d, 0, "Name:\t%.*s", STR_ARG(json_text_at(d->metadata, "name")));
	describe_field(d, 0, "Namespace", json_text_at(d->metadata, "namespace"));
	describe_labels(d, "Labels", json_getz(d->metadata, "labels"));
	describe_annotations(d);
	describe_field(d, 0, "API Version", resource_api_version(d->arena, &d->type->resource));
	describe_field(d, 0, "Kind", d->type->resource.kind);
	describe_field(d, 0, "CreationTimestamp",
		       describe_time(d, json_text_at(d->metadata, "creationTimestamp")));
	JSON_FOREACH (it, d->object) {
		if (!is_common(json_key(it)))
			describe_member(d, it);
	}
	describe_events(d);
	return 0;
}
