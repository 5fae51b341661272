/*
 * openapi_impl - shared by the parts of the OpenAPI printer.
 *
 * The two versions of OpenAPI differ only slightly, in reference targets and in the description
 * of bodies. So there is one printer that knows which version it writes.
 */
#ifndef SERVER_PUBLISH_OPENAPI_IMPL_H
#define SERVER_PUBLISH_OPENAPI_IMPL_H

#include "api/schema/schema.h"
#include "base/json/writer.h"

struct openapi_print {
	struct json_writer *w;
	const struct gates *gates;
	const struct schema_kind *const *kinds; /* all */
	size_t nkinds;
	struct str api_version; /* the described group version; empty: all (v2) */
	bool v3;
};

/* Types with these names have no table: they are scalars, or arbitrary values. */
#define OPENAPI_META  "io.k8s.apimachinery.pkg.apis.meta.v1."
#define OPENAPI_PATCH OPENAPI_META "Patch"

/* Whether the document includes a kind. */
bool openapi_has_kind(const struct openapi_print *p, const struct schema_kind *k);

/* `"key":"value"` */
void openapi_put(struct openapi_print *p, const char *key, struct str value);

/* `"$ref":"..name"` */
void openapi_put_ref(struct openapi_print *p, struct str name);

/* `{"group":..,"version":..,"kind":..}` */
void openapi_put_gvk(struct openapi_print *p, struct str group, struct str version,
		     struct str kind);

/* The value of `paths`. */
void openapi_print_paths(struct openapi_print *p);

/* The value of `components.schemas`, or of `definitions`: all types that the kinds refer to. */
void openapi_print_types(struct openapi_print *p);

/* `"name":{..}`: one field of a type. */
void openapi_put_field(struct openapi_print *p, const struct schema_field *f);

/* The types of a custom kind and of its list, from their definition. */
void openapi_put_custom(struct openapi_print *p, const struct schema_kind *k);

/* The OpenAPI name of a kind's list. For a custom kind the text is in `buffer`. */
struct str openapi_list_name(const struct schema_kind *k, struct buf *buffer);

/* A whole document. */
void openapi_print_document(struct openapi_print *p);

/*
 * The same document as gnostic's openapi.v2.Document in protobuf, converted from its JSON:
 * kubectl accepts no other form. -ERR_TOO_LARGE.
 */
int openapi_v2_to_protobuf(const struct json *document, struct buf *out);

#endif
