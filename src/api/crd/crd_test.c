#include "api/crd/crd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/object/object.h"
#include "api/schema/tree.h"
#include "api/table/table.h"
#include "api/write/scale.h"
#include "api/write/write.h"
#include "base/core/limits.h"

#define NOW (INT64_C(1700000000) * 1000000000)

/* Two versions: v1 is stored and has a status subresource; v2 has fewer fields, and another one. */
static const char widgets[] =
	"{'metadata':{'name':'widgets.example.com','uid':'u-1'},'spec':{'group':'example.com',"
	"'scope':'Namespaced','names':{'plural':'widgets','singular':'widget','kind':'Widget',"
	"'listKind':'WidgetList','shortNames':['wd'],'categories':['all']},'versions':["
	"{'name':'v1','served':true,'storage':true,'deprecated':true,'subresources':{'status':{},"
	"'scale':{'specReplicasPath':'.spec.size','statusReplicasPath':'.status.size',"
	"'labelSelectorPath':'.status.selector'}},'selectableFields':[{'jsonPath':'.spec.color'}],"
	"'additionalPrinterColumns':[{'name':'Color','type':'string','jsonPath':'.spec.color'},"
	"{'name':'Size','type':'integer','jsonPath':'.spec.size','priority':1},"
	"{'name':'Ready','type':'string','jsonPath':'.status.conditions[?(@.type==\\'Ready\\')]"
	".status'},{'name':'Age','type':'date','jsonPath':'.metadata.creationTimestamp'},"
	"{'name':'Any','type':'string','jsonPath':'.spec.any'},"
	"{'name':'Nothing','type':'number','jsonPath':'.spec.none'}],"
	"'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':'object',"
	"'properties':{'color':{'type':'string','default':'red','maxLength':5},'size':{'type':"
	"'integer'},'old':{'type':'string'},'l':{'type':'array','items':{'type':'array','items':"
	"{'type':'integer'}}},'ports':{'type':'array','x-kubernetes-list-type':'map',"
	"'x-kubernetes-list-map-keys':['name'],'items':{'type':'object','required':['name'],"
	"'properties':{'name':{'type':'string','maxLength':3},'tags':{'type':'array',"
	"'x-kubernetes-list-type':'set','items':{'type':'string'}}}}},'m':{'type':'object',"
	"'additionalProperties':{'type':'array','x-kubernetes-list-type':'set','items':{'type':"
	"'string'}}},'any':{'type':'object','x-kubernetes-preserve-unknown-fields':true},"
	"'at':{'type':'object','x-kubernetes-map-type':'atomic','properties':{'x':{'type':"
	"'string'}}}}},'status':{'type':'object','properties':{'phase':{'type':'string'},"
	"'size':{'type':'integer'},'selector':{'type':'string'},'conditions':{'type':'array',"
	"'items':{'type':'object','properties':{'type':{'type':'string'},'status':{'type':"
	"'string'}}}}}}}}}},"
	"{'name':'v2','served':true,'storage':false,'schema':{'openAPIV3Schema':{'type':'object',"
	"'properties':{'spec':{'type':'object','properties':{'color':{'type':'string','default':"
	"'blue'},'size':{'type':'integer'},'neu':{'type':'string','default':'n'}}},'status':{"
	"'type':'object','properties':{'phase':{'type':'string'}}}}}}},"
	"{'name':'v3alpha1','served':false,'storage':false,'schema':{'openAPIV3Schema':{"
	"'type':'object'}}}]}}";

struct world {
	struct arena arena;
	struct gates gates;
	struct prng prng;
	struct crd *crd;
	struct write write;
};

/* JSON with single quotes, for readability. */
static struct str quoted(struct arena *a, const char *text)
{
	char *out = arena_alloc(a, strlen(text) * 2 + 1);
	size_t n = 0;

	for (size_t i = 0; text[i]; i++) {
		if (text[i] == '\\' && text[i + 1] == '\'') {
			out[n++] = '\\';
			out[n++] = '"';
			i++;
		} else {
			out[n++] = text[i] == '\'' ? '"' : text[i];
		}
	}
	return str_of(out, n);
}

static struct json *parse(struct world *w, const char *text)
{
	struct error err;
	struct json *v;

	if (json_parse(&w->arena, quoted(&w->arena, text), NULL, &v, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return v;
}

static void world_init(struct world *w)
{
	struct error err;

	*w = (struct world){ 0 };
	arena_init(&w->arena, 256 * MIB);
	gates_init(&w->gates);
	prng_init(&w->prng, 1);
	if (crd_compile(parse(w, widgets), &w->gates, &w->crd, &err) < 0)
		fail_msg("%s", err.msg);
}

static void world_release(struct world *w)
{
	crd_unref(w->crd);
	arena_release(&w->arena);
}

static const struct schema_kind *kind_of(struct world *w, const char *version)
{
	const struct schema_kind *const *kinds;
	size_t n;

	kinds = crd_kinds(w->crd, &n);
	for (size_t i = 0; i < n; i++)
		if (str_eqz(kinds[i]->version, version))
			return kinds[i];
	fail_msg("no version %s", version);
	return NULL;
}

static void begin(struct world *w, const char *version, const char *subresource, const char *name)
{
	w->write = (struct write){
		.arena = &w->arena,
		.kind = kind_of(w, version),
		.ns = STR("default"),
		.name = str_from(name),
		.subresource = str_from(subresource),
		.gates = &w->gates,
		.prng = &w->prng,
		.user_agent = STR("tester/1"),
		.options.field_validation = WRITE_WARN,
		.now_ns = NOW,
	};
	write_init(&w->write);
}

static struct json *decode(struct world *w, const char *text)
{
	struct error err;
	struct json *body;

	if (write_decode(&w->write, quoted(&w->arena, text), DECODE_JSON, &body, &err) < 0)
		fail_msg("%s", err.msg);
	return body;
}

/* Stores it as revision 7, for the next write. */
static struct json *stored(struct world *w, struct json *object)
{
	json_put_str(&w->arena, json_getz(object, "metadata"), "resourceVersion", STR("7"));
	return object;
}

static struct json *create(struct world *w, const char *version, const char *text)
{
	struct error err;
	struct json *object, *body;

	begin(w, version, "", NULL);
	body = decode(w, text);
	json_remove(json_getz(body, "metadata"), STR("resourceVersion"));
	if (write_create(&w->write, body, &object, &err) < 0) {
		CLEANUP(buf_release) struct buf why = BUF_INIT(MIB);

		(void)field_errors_aggregate(&w->write.errs, &why);
		fail_msg("%s %s", err.msg, why.p ? why.p : "");
	}
	return stored(w, object);
}

static int update(struct world *w, const char *version, const char *subresource,
		  const struct json *old, const char *text, struct json **ret_object)
{
	struct error err;
	int r;

	begin(w, version, subresource, "a");
	r = write_update(&w->write, old, decode(w, text), ret_object, &err);
	if (r < 0 && r != -ERR_INVALID)
		fail_msg("%s", err.msg);
	if (r == 0)
		(void)stored(w, *ret_object);
	return r;
}

static void assert_json(const struct json *v, struct world *w, const char *want)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	if (v && json_equal(v, parse(w, want)))
		return;
	if (v)
		(void)json_print(&text, v, NULL);
	fail_msg("%s\nis not\n%s", text.p ? text.p : "nothing", want);
}

#define WIDGET(version, rest)                                                  \
	"{'apiVersion':'example.com/" version "','kind':'Widget','metadata':{" \
	"'name':'a','resourceVersion':'7'}," rest "}"

static const char full[] = WIDGET(
	"v1", "'spec':{'size':1,'old':'o','l':[[1]],'ports':[{'name':'p','tags':['t']}],"
	      "'m':{'k':['v']},'any':{'a':{'b':[1]},'c':2},'at':{'x':'1'}},"
	      "'status':{'phase':'x'}");

/* --- kinds ------------------------------------------------------------------------ */

static void a_definition_makes_a_kind_per_version(void **state)
{
	const struct schema_kind *const *kinds, *v1;
	struct world w;
	size_t n;

	world_init(&w);
	kinds = crd_kinds(w.crd, &n);
	v1 = kind_of(&w, "v1");
	assert_int_equal(n, 3);
	assert_true(str_eqz(kinds[0]->version, "v2"));
	assert_true(str_eqz(kinds[1]->version, "v1"));
	assert_true(str_eqz(kinds[2]->version, "v3alpha1"));
	for (size_t i = 0; i < n; i++) {
		assert_ptr_equal(kinds[i]->storage, v1);
		assert_ptr_equal(crd_of(kinds[i]), w.crd);
		assert_true(str_eqz(kinds[i]->storage_name, "example.com/widgets"));
	}
	assert_true(crd_served(w.crd, 0) && crd_served(w.crd, 1) && !crd_served(w.crd, 2));
	assert_true(str_eqz(v1->api_version, "example.com/v1"));
	assert_true(str_eqz(v1->short_names[0], "wd") && !v1->short_names[1].p);
	assert_true(v1->flags & SCHEMA_STATUS && v1->flags & SCHEMA_NAMESPACED);
	assert_false(kinds[0]->flags & SCHEMA_STATUS);
	assert_int_equal(v1->nsubresources, 2);
	assert_true(str_eqz(schema_resets(v1, STR(""))[0], "status"));
	assert_true(str_eqz(schema_resets(v1, STR("status"))[0], "metadata"));
	assert_true(str_eqz(schema_resets(v1, STR("status"))[1], "spec"));
	assert_null(schema_resets(kinds[0], STR("")));
	assert_int_equal(v1->nselectables, 1);
	assert_true(str_eqz(v1->selectables[0].path, "spec.color"));
	assert_true(str_eqz(crd_deprecation(w.crd, 1), "example.com/v1 Widget is deprecated; use "
						       "example.com/v2 Widget"));
	assert_null(crd_deprecation(w.crd, 0).p);
	assert_true(str_eqz(crd_name(w.crd), "widgets.example.com"));
	assert_non_null(crd_openapi(w.crd, 0));
	world_release(&w);
}

static void versions_are_listed_as_kubernetes_lists_them(void **state)
{
	static const char *const order[] = { "v10",      "v2",      "v1",        "v11beta2",
					     "v10beta3", "v3beta1", "v12alpha1", "v11alpha2",
					     "foo1",     "foo10" };

	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		for (size_t k = 0; k < ARRAY_SIZE(order); k++) {
			int c = crd_version_cmp(str_from(order[i]), str_from(order[k]));

			assert_true(i < k ? c < 0 : i > k ? c > 0 : c == 0);
		}
}

static void a_definition_with_only_a_new_condition_is_the_same(void **state)
{
	struct json *definition;
	struct world w;

	world_init(&w);
	definition = parse(&w, widgets);
	assert_true(crd_is_made_of(w.crd, definition));
	(void)crd_set_condition(&w.arena, definition, &crd_established, NOW);
	assert_true(crd_is_made_of(w.crd, definition));
	json_put_str(&w.arena, json_getz(definition, "spec"), "scope", STR("Cluster"));
	assert_false(crd_is_made_of(w.crd, definition));
	world_release(&w);
}

/* --- writes ----------------------------------------------------------------------- */

static void fields_are_owned_as_the_schema_says(void **state)
{
	struct json *object, *fields;
	struct world w;

	world_init(&w);
	object = create(&w, "v1", full);
	fields = json_pointer(object, STR("/metadata/managedFields/0/fieldsV1"));
	assert_json(fields, &w,
		    "{'f:spec':{'.':{},'f:any':{'.':{},'f:a':{'.':{},'f:b':{}},'f:c':{}},'f:at':{},"
		    "'f:color':{},'f:l':{},'f:m':{'.':{},'f:k':{'.':{},'v:\\'v\\'':{}}},'f:old':{},"
		    "'f:ports':{'.':{},'k:{\\'name\\':\\'p\\'}':{'.':{},'f:name':{},'f:tags':{'.':"
		    "{},'v:\\'t\\'':{}}}},'f:size':{}}}");
	assert_true(
		str_eqz(json_str(json_pointer(object, STR("/metadata/managedFields/0/apiVersion"))),
			"example.com/v1"));
	world_release(&w);
}

static void status_and_the_rest_are_written_apart(void **state)
{
	struct json *object, *next, *last;
	int64_t generation;
	struct world w;

	world_init(&w);
	object = create(&w, "v1", full);
	assert_null(json_getz(object, "status"));
	assert_int_equal(update(&w, "v1", "status", object,
				WIDGET("v1", "'spec':{'size':5},'status':{'phase':'Up'}"), &next),
			 0);
	assert_json(json_getz(next, "status"), &w, "{'phase':'Up'}");
	assert_json(json_pointer(next, STR("/spec/size")), &w, "1");
	assert_true(json_i64(json_pointer(next, STR("/metadata/generation")), &generation));
	assert_int_equal(generation, 1);
	assert_json(json_pointer(next, STR("/metadata/managedFields/1/fieldsV1")), &w,
		    "{'f:status':{'.':{},'f:phase':{}}}");
	assert_int_equal(update(&w, "v1", "", next,
				WIDGET("v1", "'spec':{'size':2},'status':{'phase':'Down'}"), &last),
			 0);
	assert_json(json_getz(last, "status"), &w, "{'phase':'Up'}");
	assert_json(json_getz(last, "spec"), &w, "{'size':2,'color':'red'}");
	assert_true(json_i64(json_pointer(last, STR("/metadata/generation")), &generation));
	assert_int_equal(generation, 2);
	assert_int_equal(
		update(&w, "v1", "status", next, WIDGET("v1", "'status':{'phase':5}"), &last),
		-ERR_INVALID);
	world_release(&w);
}

static void versions_prune_by_their_own_schema(void **state)
{
	struct json *object, *shown, *next;
	struct world w;

	world_init(&w);
	object = create(&w, "v1", full);
	assert_int_equal(json_copy(&w.arena, object, &shown, NULL), 0);
	write_from_storage(&w.arena, shown, kind_of(&w, "v2"));
	assert_json(json_getz(shown, "apiVersion"), &w, "'example.com/v2'");
	/* Defaults are those of the version that is stored. */
	assert_json(json_getz(shown, "spec"), &w, "{'color':'red','size':1}");
	assert_int_equal(update(&w, "v2", "", object,
				WIDGET("v2", "'spec':{'size':3},'status':{'phase':'v2'}"), &next),
			 0);
	assert_json(json_getz(next, "apiVersion"), &w, "'example.com/v1'");
	assert_json(json_getz(next, "spec"), &w, "{'size':3,'color':'blue'}");
	/* v2 has no status subresource, so writes of the main resource include status. */
	assert_json(json_getz(next, "status"), &w, "{'phase':'v2'}");
	world_release(&w);
}

static void an_object_stored_under_an_old_schema_is_served_by_the_new_one(void **state)
{
	CLEANUP(object_unref) struct object *o = NULL;
	struct str text;
	struct error err;
	struct world w;

	world_init(&w);
	text = quoted(&w.arena, "{'apiVersion':'example.com/v2','kind':'Widget','metadata':{"
				"'name':'a','namespace':'default','uid':'u'},'spec':{'size':1,"
				"'gone':true,'neu':'x'}}");
	assert_int_equal(object_new(kind_of(&w, "v1"), text, 9, &w.gates, &o, &err), 0);
	assert_true(str_eq(bytes_str(o->json),
			   quoted(&w.arena, "{'apiVersion':'example.com/v1','kind':'Widget',"
					    "'metadata':{'name':'a','namespace':'default','uid':"
					    "'u','resourceVersion':'9'},'spec':{'size':1,"
					    "'color':'blue'}}")));
	assert_true(str_eq(object_field_at(o, kind_of(&w, "v1"), 0), STR("blue")));
	world_release(&w);
}

static void a_write_that_changes_nothing_is_none(void **state)
{
	struct json *object, *next;
	struct world w;

	world_init(&w);
	object = create(&w, "v1", WIDGET("v1", "'spec':{'size':2}"));
	assert_int_equal(update(&w, "v1", "", object, WIDGET("v1", "'spec':{'size':2}"), &next), 0);
	/* Metadata that a client may leave out is not a difference. */
	assert_true(w.write.unchanged);
	assert_int_equal(update(&w, "v1", "", object, WIDGET("v1", "'spec':{'size':3}"), &next), 0);
	assert_false(w.write.unchanged);
	world_release(&w);
}

static void an_update_may_keep_values_that_were_invalid_before(void **state)
{
	struct json *old, *next;
	struct world w;

	world_init(&w);
	old = create(&w, "v1", WIDGET("v1", "'spec':{'size':2,'ports':[{'name':'p'}]}"));
	/* As if it had been stored before the rules existed. */
	json_put_str(&w.arena, json_getz(old, "spec"), "color", STR("yellow"));
	json_put_str(&w.arena, json_pointer(old, STR("/spec/ports/0")), "name", STR("long-one"));
	assert_int_equal(update(&w, "v1", "", old,
				WIDGET("v1", "'spec':{'size':3,'color':'yellow','ports':[{'name':"
					     "'new'},{'name':'long-one'}]}"),
				&next),
			 0);
	assert_int_equal(update(&w, "v1", "", old,
				WIDGET("v1", "'spec':{'size':3,'color':'purple'}"), &next),
			 -ERR_INVALID);
	world_release(&w);
}

static void patches_go_through_the_schema(void **state)
{
	struct json *object, *next;
	struct error err;
	struct world w;

	world_init(&w);
	object = create(&w, "v1", WIDGET("v1", "'spec':{'color':'green','size':2}"));
	begin(&w, "v1", "", "a");
	assert_int_equal(write_patch(&w.write, object, PATCH_MERGE,
				     parse(&w, "{'spec':{'color':null,'zz':1}}"), &next, &err),
			 0);
	assert_json(json_getz(next, "spec"), &w, "{'color':'red','size':2}");
	assert_true(w.write.warnings &&
		    str_eqz(w.write.warnings->text, "unknown field \"spec.zz\""));
	begin(&w, "v1", "", "a");
	assert_int_equal(write_patch(&w.write, object, PATCH_STRATEGIC,
				     parse(&w, "{'spec':{'size':1}}"), &next, &err),
			 -ERR_UNSUPPORTED_MEDIA_TYPE);
	world_release(&w);
}

static void replicas_are_scaled_where_the_definition_says(void **state)
{
	struct json *object, *scale, *next;
	struct error err;
	struct world w;

	world_init(&w);
	object = create(&w, "v1", WIDGET("v1", "'spec':{'size':2}"));
	assert_int_equal(scale_get(&w.arena, scale_paths(kind_of(&w, "v1")), object, &scale, &err),
			 0);
	assert_json(json_getz(scale, "spec"), &w, "{'replicas':2}");
	begin(&w, "v1", "scale", "a");
	json_put_i64(&w.arena, json_getz(scale, "spec"), "replicas", 4);
	assert_int_equal(scale_update(&w.write, object, scale, &next, &err), 0);
	assert_json(json_pointer(next, STR("/spec/size")), &w, "4");
	assert_int_equal(update(&w, "v1", "", object, WIDGET("v1", "'spec':{'size':-1}"), &next),
			 -ERR_INVALID);
	world_release(&w);
}

/* --- tables ----------------------------------------------------------------------- */

static void columns_show_what_their_paths_find(void **state)
{
	CLEANUP(buf_release) struct buf row = BUF_INIT(MIB);
	CLEANUP(buf_release) struct buf head = BUF_INIT(MIB);
	struct json *object, *cells;
	struct world w;

	world_init(&w);
	object = create(&w, "v1", full);
	json_setz(object, "status",
		  parse(&w, "{'conditions':[{'type':'Synced','status':'False'},"
			    "{'type':'Ready','status':'True'}]}"));
	assert_int_equal(table_row(kind_of(&w, "v1"), object, TABLE_INCLUDE_NONE, STR("v1"),
				   NOW + INT64_C(90) * 1000000000, &row),
			 0);
	assert_int_equal(json_parse(&w.arena, buf_str(&row), NULL, &cells, NULL), 0);
	assert_json(json_getz(cells, "cells"), &w,
		    "['a','red',1,'True','90s','{\\'a\\':{\\'b\\':[1]},\\'c\\':2}',null]");
	assert_int_equal(table_begin(kind_of(&w, "v2"), STR("v1"), STR("{}"), true, &head), 0);
	assert_non_null(strstr(head.p, "\"name\":\"Age\",\"type\":\"date\""));
	world_release(&w);
}

/* --- names ------------------------------------------------------------------------ */

struct catalogue {
	const char *resource, *kind;
};

static bool takes_resource(const void *catalogue, struct str group, struct str name)
{
	const struct catalogue *c = catalogue;

	return str_eqz(group, "example.com") && c->resource && str_eqz(name, c->resource);
}

static bool takes_kind(const void *catalogue, struct str group, struct str name)
{
	const struct catalogue *c = catalogue;

	return c->kind && str_eqz(name, c->kind);
}

static struct str condition_text(const struct json *definition, const char *type, const char *key)
{
	JSON_FOREACH (c, json_pointer(definition, STR("/status/conditions")))
		if (str_eqz(json_text_at(c, "type"), type))
			return json_text_at(c, key);
	return STR_NULL;
}

static void free_names_are_accepted(void **state)
{
	struct catalogue none = { 0 };
	struct crd_taken taken = { takes_resource, takes_kind, &none };
	struct json *definition;
	struct world w;

	world_init(&w);
	definition = parse(&w, widgets);
	assert_true(crd_accept_names(&w.arena, definition, &taken, NOW));
	assert_json(json_pointer(definition, STR("/status/acceptedNames")), &w,
		    "{'plural':'widgets','singular':'widget','kind':'Widget','listKind':"
		    "'WidgetList','shortNames':['wd'],'categories':['all']}");
	assert_true(tree_condition_is_true(definition, STR("NamesAccepted")));
	assert_true(str_eqz(condition_text(definition, "Established", "reason"), "Installing"));
	assert_false(crd_accept_names(&w.arena, definition, &taken, NOW + 1));
	assert_true(crd_set_condition(&w.arena, definition, &crd_established, NOW));
	assert_false(crd_accept_names(&w.arena, definition, &taken, NOW));
	assert_true(tree_condition_is_true(definition, STR("Established")));
	world_release(&w);
}

static void names_in_use_are_refused(void **state)
{
	struct catalogue others = { "wd", NULL };
	struct crd_taken taken = { takes_resource, takes_kind, &others };
	CLEANUP(crd_unref) struct crd *crd = NULL;
	struct json *definition;
	struct world w;

	world_init(&w);
	definition = parse(&w, widgets);
	assert_true(crd_accept_names(&w.arena, definition, &taken, NOW));
	assert_true(str_eqz(condition_text(definition, "NamesAccepted", "reason"),
			    "ShortNamesConflict"));
	assert_true(str_eqz(condition_text(definition, "NamesAccepted", "message"),
			    "\"wd\" is already in use"));
	assert_true(str_eqz(condition_text(definition, "Established", "reason"), "NotAccepted"));
	assert_null(json_pointer(definition, STR("/status/acceptedNames/shortNames")));
	others = (struct catalogue){ NULL, "Widget" };
	assert_true(crd_accept_names(&w.arena, parse(&w, widgets), &taken, NOW));
	others = (struct catalogue){ 0 };
	assert_true(crd_accept_names(&w.arena, definition, &taken, NOW));
	assert_int_equal(crd_compile(definition, &w.gates, &crd, NULL), 0);
	assert_true(crd_takes_resource(crd, STR("wd")) && crd_takes_resource(crd, STR("widget")));
	assert_true(crd_takes_kind(crd, STR("WidgetList")) && !crd_takes_kind(crd, STR("widget")));
	assert_false(crd_is_made_of(w.crd, definition));
	world_release(&w);
}

static void protected_groups_say_whether_they_are_approved(void **state)
{
	struct json *definition;
	struct world w;

	world_init(&w);
	definition = parse(&w, "{'metadata':{'annotations':{'api-approved.kubernetes.io':"
			       "'https://github.com/x/1'}},'spec':{'group':'a.k8s.io'}}");
	assert_true(crd_set_approval(&w.arena, definition, NOW));
	assert_true(
		tree_condition_is_true(definition, STR("KubernetesAPIApprovalPolicyConformant")));
	assert_false(crd_set_approval(&w.arena, definition, NOW));
	assert_false(crd_set_approval(&w.arena, parse(&w, widgets), NOW));
	world_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_definition_makes_a_kind_per_version),
		cmocka_unit_test(versions_are_listed_as_kubernetes_lists_them),
		cmocka_unit_test(a_definition_with_only_a_new_condition_is_the_same),
		cmocka_unit_test(fields_are_owned_as_the_schema_says),
		cmocka_unit_test(status_and_the_rest_are_written_apart),
		cmocka_unit_test(versions_prune_by_their_own_schema),
		cmocka_unit_test(an_object_stored_under_an_old_schema_is_served_by_the_new_one),
		cmocka_unit_test(a_write_that_changes_nothing_is_none),
		cmocka_unit_test(an_update_may_keep_values_that_were_invalid_before),
		cmocka_unit_test(patches_go_through_the_schema),
		cmocka_unit_test(replicas_are_scaled_where_the_definition_says),
		cmocka_unit_test(columns_show_what_their_paths_find),
		cmocka_unit_test(free_names_are_accepted),
		cmocka_unit_test(names_in_use_are_refused),
		cmocka_unit_test(protected_groups_say_whether_they_are_approved),
	};

	return cmocka_run_group_tests_name("api/crd", tests, NULL, NULL);
}
