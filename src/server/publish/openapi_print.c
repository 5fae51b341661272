/*
 * The parts of a document around paths and types, and the primitives that both use.
 */
#include "server/publish/openapi_impl.h"

/* As in upstream's documents that do not belong to one release. */
#define API_VERSION "unversioned"

#define BEARER_TOKEN                                                                 \
	"{\"BearerToken\":{\"description\":\"A bearer token.\",\"type\":\"apiKey\"," \
	"\"name\":\"authorization\",\"in\":\"header\"}}"

bool openapi_has_kind(const struct openapi_print *p, const struct schema_kind *k)
{
	return gates_on(p->gates, k->gate) &&
	       (!p->api_version.n || str_eq(p->api_version, k->api_version));
}

void openapi_put(struct openapi_print *p, const char *key, struct str value)
{
	json_writer_keyz(p->w, key);
	json_writer_str(p->w, value);
}

void openapi_put_ref(struct openapi_print *p, struct str name)
{
	char ref[512];

	(void)snprintf(ref, sizeof(ref), "%s%.*s",
		       p->v3 ? "#/components/schemas/" : "#/definitions/", STR_ARG(name));
	openapi_put(p, "$ref", str_from(ref));
}

void openapi_put_gvk(struct openapi_print *p, struct str group, struct str version, struct str kind)
{
	json_writer_begin_object(p->w);
	openapi_put(p, "group", group);
	openapi_put(p, "version", version);
	openapi_put(p, "kind", kind);
	json_writer_end_object(p->w);
}

static void put_info(struct openapi_print *p)
{
	json_writer_keyz(p->w, "info");
	json_writer_begin_object(p->w);
	openapi_put(p, "title", STR("Kubernetes"));
	openapi_put(p, "version", STR(API_VERSION));
	json_writer_end_object(p->w);
	json_writer_keyz(p->w, "paths");
	openapi_print_paths(p);
}

static void print_v3(struct openapi_print *p)
{
	openapi_put(p, "openapi", STR("3.0.0"));
	put_info(p);
	json_writer_keyz(p->w, "components");
	json_writer_begin_object(p->w);
	json_writer_keyz(p->w, "schemas");
	openapi_print_types(p);
	json_writer_keyz(p->w, "securitySchemes");
	json_writer_raw(p->w, STR(BEARER_TOKEN));
	json_writer_end_object(p->w);
}

static void print_v2(struct openapi_print *p)
{
	openapi_put(p, "swagger", STR("2.0"));
	put_info(p);
	json_writer_keyz(p->w, "definitions");
	openapi_print_types(p);
	json_writer_keyz(p->w, "securityDefinitions");
	json_writer_raw(p->w, STR(BEARER_TOKEN));
	json_writer_keyz(p->w, "security");
	json_writer_raw(p->w, STR("[{\"BearerToken\":[]}]"));
}

void openapi_print_document(struct openapi_print *p)
{
	json_writer_begin_object(p->w);
	if (p->v3)
		print_v3(p);
	else
		print_v2(p);
	json_writer_end_object(p->w);
}
