/*
 * Unknown fields and repeated names, as a kube-apiserver 1.38 reported them for the same bodies and
 * patches: which, in which order, and with which words, rejected and as warnings.
 */
#include "api/write/write_fixture.h"

#include "api/crd/crd.h"
#include "base/core/limits.h"

/*
 * Texts have single quotes for double ones, for readability. Faults are abbreviated: -PATH is an
 * unknown field, +PATH a duplicate one, *+PATH and *-PATH those of a JSON patch, 8=KEY a key that
 * is set again at line 8.
 */
struct body {
	const char *name;
	const char *text;
	const char *told;
	bool yaml;
};

struct patch {
	enum patch_type type;
	const char *text;
	const char *told;
};

static const struct body config_maps[] = {
	{ "nothing",
	  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a'},'data':{'a':'1'}}", "" },
	{ "a map's key",
	  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a'},'data':{'a':'1',"
	  "'b':'2','a':'3'}}",
	  "+data.a" },
	{ "below what is unknown nothing is told, of what comes again all",
	  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a'},'x':{'a':1,'a':2},"
	  "'data':{'a':'1','a':'2'},'data':{'a':'1','b':'2','b':'3'},'x':1,"
	  "'kind':'ConfigMap'}",
	  "-x +data.a +data +data.b +kind" },
	{ "faults of a value that is replaced",
	  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a'},"
	  "'metadata':{'foo':1,'name':'a'},'metadata':{'bar':1,'name':'a','bar':2},"
	  "'data':{'z':'1'}}",
	  "+metadata -metadata.foo -metadata.bar" },
	{ "escapes",
	  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a'},"
	  "'data':{'\\u0061':'1','a':'2'},'\\u0071':1,'q\\n':2,'q\\n':3}",
	  "+data.a -q -q\\n" },
	{ "nulls and zeros",
	  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a'},'data':null,"
	  "'data':null,'immutable':null,'immutable':false}",
	  "+data +immutable" },
	{ "metadata, and what is kept unread",
	  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a','zz':1,"
	  "'annotations':{'k':'v','k':'w'},'ownerReferences':[{'apiVersion':'v1',"
	  "'kind':'Pod','name':'a','uid':'u','uid':'w','zz':1,'aa':2}],'aa':1,"
	  "'managedFields':[{'fieldsV1':{'f:a':{},'f:a':{}},'x':1}]},'aaa':1}",
	  "-metadata.zz +metadata.annotations.k +metadata.ownerReferences[0].uid "
	  "-metadata.ownerReferences[0].zz -metadata.ownerReferences[0].aa -metadata.aa "
	  "-metadata.managedFields[0].x -aaa" },
	{ "YAML: lines first, then what is unknown by name",
	  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\nzz: 1\naa:\n  x: 1\n"
	  "  x: 2\ndata:\n  q: '1'\n  q: '2'\n  q: '3'\nbb: 1\n",
	  "8=x 11=q 12=q -aa -bb -zz", true },
	{ "YAML: by name at each level",
	  "zz: 1\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  zz: 1\n  aa: 1\n"
	  "b: 1\n",
	  "-b -metadata.aa -metadata.zz -zz", true },
	{ "YAML: aliases and merges",
	  "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\nx:\n  base: &b\n    k: "
	  "1\n    j: 2\n  one:\n    <<: *b\n    k: 3\n",
	  "11=k -x", true },
	{ "YAML: one fault", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\nx: 1\n", "-x",
	  true },
	{ "YAML that is JSON",
	  "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a'},'data':{'a':'1',\n"
	  "'b':'2','a':'3'},'z':1,'b':1}",
	  "2=a -b -z", true },
	{ "YAML that is JSON with tabs: ours alone reads it",
	  "\t{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'a'},'data':{'a':'1',"
	  "'a':'3'},'z':1}",
	  "+data.a -z", true },
};

static const struct body deployments[] = {
	{ "upstream's own test, field_validation.go",
	  "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'a',"
	  "'labels':{'app':'n'}},'spec':{'unknownField':'foo','replicas':2,'replicas':3,"
	  "'selector':{'matchLabels':{'app':'n'}},"
	  "'template':{'metadata':{'labels':{'app':'n'}},'spec':{'containers':[{'name':'n',"
	  "'image':'i'}]}}}}",
	  "-spec.unknownField +spec.replicas" },
	{ "several levels",
	  "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d','name':'a',"
	  "'unknownMeta':1},'spec':{'unknown1':1,'unknownDupe':1,'unknownDupe':2,"
	  "'paused':true,'paused':false,'selector':{'matchLabels':{'app':'n'}},"
	  "'template':{'metadata':{'labels':{'app':'n'}},'spec':{'containers':[{'name':'n',"
	  "'image':'i','unknownNested':1,'imagePullPolicy':'Always',"
	  "'imagePullPolicy':'Never'}]}}}}",
	  "+metadata.name -metadata.unknownMeta -spec.unknown1 -spec.unknownDupe "
	  "+spec.paused -spec.template.spec.containers[0].unknownNested "
	  "+spec.template.spec.containers[0].imagePullPolicy" },
};

static const struct body definitions[] = {
	{ "forms that upstream reads by functions of their own",
	  "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
	  "'metadata':{'name':'xs.e.com'},'spec':{'group':'e.com','scope':'Namespaced',"
	  "'names':{'plural':'xs','singular':'x','kind':'X','kind':'X','foo':1},"
	  "'versions':[{'name':'v1','served':true,'storage':true,"
	  "'schema':{'openAPIV3Schema':{'type':'object','bad':1,"
	  "'properties':{'a':{'type':'object','default':{'q':1,'q':2},'bad':2,"
	  "'properties':{'q':{'type':'integer','type':'integer'}}},'l':{'type':'array',"
	  "'items':{'type':'string','bad':3,'type':'string'}},'m':{'type':'object',"
	  "'additionalProperties':{'type':'string','bad':4}},'l2':{'type':'string',"
	  "'bad':1},'l2':{'type':'string'}}}}}]}}",
	  "+spec.names.kind -spec.names.foo -spec.versions[0].schema.openAPIV3Schema.bad "
	  "-spec.versions[0].schema.openAPIV3Schema.properties.a.bad "
	  "+spec.versions[0].schema.openAPIV3Schema.properties.a.properties.q.type "
	  "-spec.versions[0].schema.openAPIV3Schema.properties.l2.bad "
	  "+spec.versions[0].schema.openAPIV3Schema.properties.l2" },
};

static const char things[] =
	"{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{"
	"'name':'things.e.com'},'spec':{'group':'e.com','scope':'Namespaced','names':{'plural':"
	"'things','kind':'Thing'},'versions':[{'name':'v1','served':true,'storage':true,'schema':{"
	"'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':'object','properties':{"
	"'a':{'type':'string'},'m':{'type':'object','additionalProperties':{'type':'object',"
	"'properties':{'x':{'type':'integer'}}}},'keep':{'type':'object',"
	"'x-kubernetes-preserve-unknown-fields':true},'ports':{'type':'array','items':{'type':"
	"'object','properties':{'p':{'type':'integer'}}}},'tmpl':{'type':'object',"
	"'x-kubernetes-embedded-resource':true,'x-kubernetes-preserve-unknown-fields':true},"
	"'emb':{'type':'object','x-kubernetes-embedded-resource':true,"
	"'x-kubernetes-preserve-unknown-fields':true}}}}}}}]}}";

static const struct body custom[] = {
	{ "what comes twice, then metadata, then what is pruned, then what is embedded",
	  "{'apiVersion':'e.com/v1','kind':'Thing','metadata':{'name':'x','name':'a',"
	  "'zzz':1,'aaa':2,'labels':{'a':'b','a':'c'}},'zroot':1,'aroot':{'q':1,'q':2},"
	  "'spec':{'unk':1,'unk':{'w':1,'w':2},'a':'1','a':'2','m':{'k2':{'x':1,'y':2},"
	  "'k1':{'x':1,'x':2,'a':1}},'keep':{'any':1,'any':2},'ports':[{'p':1,'p':2,'q':3},"
	  "{'r':1}],'q\\'uote':1,'tmpl':{'apiVersion':'v1','kind':'Pod',"
	  "'metadata':{'name':'s','zm':1,'am':1}},'emb':{'apiVersion':'v1','kind':'Pod',"
	  "'metadata':{'name':'s','bm':1}}}}",
	  "+metadata.name +metadata.labels.a +aroot.q +spec.unk +spec.unk.w +spec.a "
	  "+spec.m.k1.x +spec.keep.any +spec.ports[0].p -metadata.aaa -metadata.zzz -aroot "
	  "-spec.m.k1.a -spec.m.k2.y -spec.ports[0].q -spec.ports[1].r -spec.q\"uote "
	  "-spec.unk -zroot -spec.emb.metadata.bm -spec.tmpl.metadata.am "
	  "-spec.tmpl.metadata.zm" },
	{ "without repetitions",
	  "{'apiVersion':'e.com/v1','kind':'Thing','metadata':{'name':'a','zzz':1,'aaa':2},"
	  "'spec':{'tmpl':{'apiVersion':'v1','kind':'Pod','metadata':{'name':'s','zm':1,"
	  "'am':1}},'emb':{'apiVersion':'v1','kind':'Pod','metadata':{'name':'s','bm':1}}}}",
	  "-metadata.aaa -metadata.zzz -spec.emb.metadata.bm -spec.tmpl.metadata.am "
	  "-spec.tmpl.metadata.zm" },
	{ "YAML",
	  "apiVersion: e.com/v1\nkind: Thing\nmetadata:\n  name: a\nspec:\n  zz: 1\n  a: "
	  "foo1\n  a: foo2\n  keep:\n    u: 1\n    u: 2\n",
	  "8=a 11=u -spec.zz", true },
};

static const struct patch patches[] = {
	{ PATCH_MERGE,
	  "{'spec':{'unknown1':1,'unknownDupe':1,'unknownDupe':{'x':1,'x':2},'paused':true,"
	  "'paused':false,'template':{'spec':{'containers':[{'name':'n','image':'i',"
	  "'unknownNested':1,'a':1,'imagePullPolicy':'Always',"
	  "'imagePullPolicy':'Never'}]}}},'zroot':1,'aroot':2}",
	  "+spec.unknownDupe +spec.unknownDupe.x +spec.paused "
	  "+spec.template.spec.containers[0].imagePullPolicy -aroot "
	  "-spec.template.spec.containers[0].a "
	  "-spec.template.spec.containers[0].unknownNested -spec.unknown1 "
	  "-spec.unknownDupe -zroot" },
	{ PATCH_STRATEGIC,
	  "{'spec':{'unknown1':1,'unknownDupe':1,'unknownDupe':{'x':1,'x':2},'paused':true,"
	  "'paused':false,'template':{'spec':{'containers':[{'name':'n','image':'i',"
	  "'unknownNested':1,'a':1,'imagePullPolicy':'Always',"
	  "'imagePullPolicy':'Never'}]}}},'zroot':1,'aroot':2}",
	  "+spec.unknownDupe +spec.unknownDupe.x +spec.paused "
	  "+spec.template.spec.containers[0].imagePullPolicy -aroot "
	  "-spec.template.spec.containers[0].a "
	  "-spec.template.spec.containers[0].unknownNested -spec.unknown1 "
	  "-spec.unknownDupe -zroot" },
	{ PATCH_MERGE, "{'spec':{'paused':true,'paused':false},'spec':{'paused':false}}",
	  "+spec.paused +spec" },
	{ PATCH_JSON,
	  "[{'op':'add','path':'/spec/unknown1','value':1,'foo':'bar'},{'op':'add',"
	  "'path':'/spec/unknown2','path':'/spec/unknown3','value':1},{'op':'add',"
	  "'path':'/spec/template/spec/containers/0/unknownNested','value':1}]",
	  "*-[0].foo *+[1].path -spec.template.spec.containers[0].unknownNested "
	  "-spec.unknown1 -spec.unknown3" },
	{ PATCH_JSON,
	  "[{'op':'add','path':'/spec/template/spec/containers/-','value':{'name':'b',"
	  "'image':'x','zz':1,'aa':2,'resources':{'zz':1,'aa':1},'mm':{'a':1,'a':2}}},"
	  "{'op':'add','path':'/spec/strategy','value':{'zz':1,'aa':2,'type':'Recreate'}},"
	  "{'op':'add','path':'/metadata/zz','value':1},{'op':'add','path':'/aroot',"
	  "'value':1}]",
	  "*+[0].value.mm.a -aroot -metadata.zz -spec.strategy.zz -spec.strategy.aa "
	  "-spec.template.spec.containers[1].zz -spec.template.spec.containers[1].aa "
	  "-spec.template.spec.containers[1].resources.zz "
	  "-spec.template.spec.containers[1].resources.aa "
	  "-spec.template.spec.containers[1].mm" },
};

static const struct patch custom_patches[] = {
	{ PATCH_MERGE,
	  "{'metadata':{'zzz':1,'aaa':2,'labels':{'a':'b','a':'c'}},'zroot':1,"
	  "'aroot':{'q':1,'q':2},'spec':{'unk':{'w':1,'w':2},'unk':2,'a':'1','a':'2',"
	  "'ports':[{'q':3,'p':1,'p':2,'b':1}],'tmpl':{'apiVersion':'v1','kind':'Pod',"
	  "'metadata':{'name':'s','zm':1,'am':1}},'emb':{'apiVersion':'v1','kind':'Pod',"
	  "'metadata':{'name':'s','bm':1}}}}",
	  "+metadata.labels.a +aroot.q +spec.unk.w +spec.unk +spec.a +spec.ports[0].p "
	  "-metadata.aaa -metadata.zzz -aroot -spec.ports[0].b -spec.ports[0].q -spec.unk "
	  "-zroot -spec.emb.metadata.bm -spec.tmpl.metadata.am -spec.tmpl.metadata.zm" },
	{ PATCH_JSON,
	  "[{'op':'add','path':'/spec','value':{'zz':1,'aa':2,'a':'q'},'foo':1,'bar':2},"
	  "{'path':'/zroot','op':'add','value':1},{'path':'/aroot','op':'add','op':'add',"
	  "'value':1},{'path':'/metadata/zzz','op':'add','value':1},"
	  "{'path':'/metadata/aaa','op':'add','value':1}]",
	  "*-[0].foo *-[0].bar *+[2].op -metadata.aaa -metadata.zzz -aroot -spec.aa "
	  "-spec.zz -zroot" },
};

static struct str quoted(struct arena *a, const char *text)
{
	char *out = arena_strdup(a, str_from(text));

	for (char *c = out; *c; c++)
		if (*c == '\'')
			*c = '"';
	return str_from(out);
}

/* Prints one fault in full. */
static void print_fault(struct buf *b, struct str fault)
{
	bool operation = fault.p[0] == '*';
	ssize_t equals = str_chr(fault, '=');

	if (equals > 0 && fault.p[0] >= '0' && fault.p[0] <= '9') {
		(void)buf_printf(b, "line %.*s: key \"%.*s\" already set in map", (int)equals,
				 fault.p, STR_ARG(str_skip(fault, (size_t)equals + 1)));
		return;
	}
	fault = str_skip(fault, operation);
	(void)buf_printf(b, "%s%s field \"%.*s\"", operation ? "json patch " : "",
			 fault.p[0] == '+' ? "duplicate" : "unknown", STR_ARG(str_skip(fault, 1)));
}

/* Prints all faults: as warnings, or as one text, in which YAML's lines come separately. */
static const char *in_full(struct arena *a, const char *told, bool warnings)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);
	struct str left = str_from(told), fault;
	bool line, first = true;

	while (left.n && str_split(&left, ' ', &fault)) {
		line = !warnings && fault.p[0] >= '0' && fault.p[0] <= '9';
		if (line && first)
			(void)buf_addz(&b, "yaml: unmarshal errors:");
		if (line || !first)
			(void)buf_addz(&b, line ? "\n  " : ", ");
		print_fault(&b, fault);
		first = false;
	}
	return arena_strdup(a, buf_str(&b));
}

static const char *warnings_of(struct fixture *f)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(MIB);

	for (const struct text_list *t = f->w.warnings; t; t = t->next)
		(void)buf_printf(&b, "%s%.*s", b.n ? ", " : "", STR_ARG(t->text));
	return arena_strdup(&f->arena, buf_str(&b));
}

static void check_body(struct fixture *f, const struct body *c)
{
	static const char head[] = "strict decoding error: ";
	enum decode_format format = c->yaml ? DECODE_YAML : DECODE_JSON;
	struct str text = quoted(&f->arena, c->text);
	const char *message;
	struct json *body;
	int r;

	print_message("# %s\n", c->name);
	fixture_again(f);
	f->w.options.field_validation = WRITE_WARN;
	assert_int_equal(write_decode(&f->w, text, format, &body, &f->err), 0);
	assert_string_equal(warnings_of(f), in_full(&f->arena, c->told, true));
	fixture_again(f);
	f->w.options.field_validation = WRITE_IGNORE;
	assert_int_equal(write_decode(&f->w, text, format, &body, &f->err), 0);
	assert_null(f->w.warnings);
	f->w.options.field_validation = WRITE_STRICT;
	r = write_decode(&f->w, text, format, &body, &f->err);
	assert_int_equal(r, c->told[0] ? -ERR_BAD_REQUEST : 0);
	if (r == 0)
		return;
	message = strstr(arena_strdup(&f->arena, f->w.message), head);
	assert_non_null(message);
	assert_string_equal(message + strlen(head), in_full(&f->arena, c->told, false));
}

static void typed_bodies_are_told_as_upstream_tells_them(void **state)
{
	struct fixture f;

	fixture_init(&f, "", "v1", "configmaps");
	for (size_t i = 0; i < ARRAY_SIZE(config_maps); i++)
		check_body(&f, &config_maps[i]);
	fixture_release(&f);
	fixture_init(&f, "apps", "v1", "deployments");
	for (size_t i = 0; i < ARRAY_SIZE(deployments); i++)
		check_body(&f, &deployments[i]);
	fixture_release(&f);
	fixture_init(&f, "apiextensions.k8s.io", "v1", "customresourcedefinitions");
	check_body(&f, &definitions[0]);
	fixture_release(&f);
}

/* The fixture of another kind. */
static struct crd *custom_init(struct fixture *f)
{
	const struct schema_kind *const *kinds;
	struct crd *crd = NULL;
	size_t n;

	fixture_init(f, "", "v1", "configmaps");
	if (crd_compile(fixture_tree(f, quoted(&f->arena, things).p), &f->gates, &crd, &f->err) < 0)
		fail_msg("%s", f->err.msg);
	kinds = crd_kinds(crd, &n);
	f->w.kind = kinds[0];
	return crd;
}

static void custom_bodies_are_told_as_upstream_tells_them(void **state)
{
	struct fixture f;
	struct crd *crd = custom_init(&f);

	for (size_t i = 0; i < ARRAY_SIZE(custom); i++)
		check_body(&f, &custom[i]);
	fixture_release(&f);
	crd_unref(crd);
}

static void a_value_that_does_not_fit_is_refused_though_another_comes_later(void **state)
{
	const char *text = "{'apiVersion':'v1','kind':'ConfigMap','immutable':'x',"
			   "'immutable':true}";
	struct fixture f;
	struct json *body;

	fixture_init(&f, "", "v1", "configmaps");
	f.w.options.field_validation = WRITE_IGNORE;
	assert_int_equal(write_decode(&f.w, quoted(&f.arena, text), DECODE_JSON, &body, &f.err),
			 -ERR_BAD_REQUEST);
	assert_non_null(strstr(f.err.msg, "cannot unmarshal string into Go struct field "
					  "ConfigMap.immutable of type bool"));
	assert_int_equal(f.w.message.n, 0);
	/* YAML keeps only the last value of a repeated name. */
	assert_int_equal(write_decode(&f.w, quoted(&f.arena, text), DECODE_YAML, &body, &f.err), 0);
	fixture_release(&f);
}

static void a_hundred_faults_are_told_and_no_more(void **state)
{
	for (int yaml = 0; yaml < 2; yaml++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(MIB), want = BUF_INIT(MIB);
		struct fixture f;
		struct json *body;

		fixture_init(&f, "", "v1", "configmaps");
		(void)buf_addz(&b, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"");
		for (int i = 120; i > 0; i--)
			(void)buf_printf(&b, ",\"z%03d\":1", i);
		(void)buf_addc(&b, '}');
		(void)buf_addz(&want, "ConfigMap in version \"v1\" cannot be handled as a "
				      "ConfigMap: strict decoding error: ");
		for (int i = 0; i < 100; i++)
			(void)buf_printf(&want, "%sunknown field \"z%03d\"", i ? ", " : "",
					 yaml ? i + 1 : 120 - i);
		f.w.options.field_validation = WRITE_STRICT;
		assert_int_equal(write_decode(&f.w, buf_str(&b), yaml ? DECODE_YAML : DECODE_JSON,
					      &body, &f.err),
				 -ERR_BAD_REQUEST);
		assert_true(str_eq(f.w.message, buf_str(&want)));
		fixture_release(&f);
	}
}

/* --- patches ---------------------------------------------------------------------- */

static int run_patch(struct fixture *f, const struct json *old, const struct patch *c)
{
	struct str text = quoted(&f->arena, c->text);
	struct decode_report *report = ARENA_NEW(&f->arena, struct decode_report);
	struct json *patch, *doc;

	fixture_again(f);
	assert_int_equal(decode_parse(&f->arena, text, DECODE_JSON, report, &patch, NULL), 0);
	decode_tell_patch(&f->arena, text, DECODE_JSON, patch, c->type == PATCH_JSON, report);
	f->w.patch_report = report;
	return write_patch(&f->w, old, c->type, patch, &doc, &f->err);
}

static void check_patch(struct fixture *f, const struct json *old, const struct patch *c)
{
	const char *message;

	f->w.options.field_validation = WRITE_WARN;
	assert_written(f, run_patch(f, old, c));
	assert_string_equal(warnings_of(f), in_full(&f->arena, c->told, true));
	f->w.options.field_validation = WRITE_STRICT;
	assert_int_equal(run_patch(f, old, c), -ERR_INVALID);
	assert_int_equal(f->w.message.n, 0);
	message = strstr(fixture_faults(f), "strict decoding error: ");
	assert_non_null(message);
	assert_string_equal(message + strlen("strict decoding error: "),
			    in_full(&f->arena, c->told, false));
	f->w.options.field_validation = WRITE_IGNORE;
	assert_written(f, run_patch(f, old, c));
	assert_null(f->w.warnings);
}

static void patches_are_told_as_upstream_tells_them(void **state)
{
	const char *text =
		"{'metadata':{'name':'a'},'spec':{'selector':{'matchLabels':{'app':'n'}},'templ"
		"ate':{'metadata':{'labels':{'app':'n'}},'spec':{'containers':[{'name':'n','ima"
		"ge':'i'}]}}}}";
	const struct json *old;
	struct fixture f;

	fixture_init(&f, "apps", "v1", "deployments");
	old = fixture_stored(&f, quoted(&f.arena, text).p);
	for (size_t i = 0; i < ARRAY_SIZE(patches); i++)
		check_patch(&f, old, &patches[i]);
	fixture_release(&f);
}

static void patches_of_custom_resources_are_told_as_upstream_tells_them(void **state)
{
	const char *text =
		"{'apiVersion':'e.com/v1','kind':'Thing','metadata':{'name':'a'},'spec':{'a':'1"
		"'}}";
	const struct json *old;
	struct fixture f;
	struct crd *crd = custom_init(&f);

	old = fixture_stored(&f, quoted(&f.arena, text).p);
	for (size_t i = 0; i < ARRAY_SIZE(custom_patches); i++)
		check_patch(&f, old, &custom_patches[i]);
	fixture_release(&f);
	crd_unref(crd);
}

static int run_apply(struct fixture *f, const char *yaml)
{
	struct str text = quoted(&f->arena, yaml);
	struct decode_report *report = ARENA_NEW(&f->arena, struct decode_report);
	struct json *config, *doc;

	fixture_again(f);
	assert_int_equal(decode_parse(&f->arena, text, DECODE_YAML, report, &config, NULL), 0);
	decode_tell_patch(&f->arena, text, DECODE_YAML, config, false, report);
	f->w.patch_report = report;
	return write_apply(&f->w, NULL, config, &doc, &f->err);
}

static void names_that_come_twice_in_what_is_applied_are_told_by_line(void **state)
{
	static const char yaml[] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n"
				   "  a: x\n  a: z\n";
	struct fixture f;

	fixture_init(&f, "", "v1", "configmaps");
	f.w.name = STR("a");
	f.w.options.field_manager = STR("tester");
	assert_written(&f, run_apply(&f, yaml));
	assert_string_equal(warnings_of(&f), "line 7: key \"a\" already set in map");
	f.w.options.field_validation = WRITE_STRICT;
	assert_int_equal(run_apply(&f, yaml), -ERR_BAD_REQUEST);
	assert_string_equal(f.err.msg,
			    "error strict decoding patch: error converting YAML to JSON: yaml: "
			    "unmarshal errors:\n  line 7: key \"a\" already set in map");
	assert_true(str_eqz(f.w.message, f.err.msg));
	fixture_release(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(typed_bodies_are_told_as_upstream_tells_them),
		cmocka_unit_test(custom_bodies_are_told_as_upstream_tells_them),
		cmocka_unit_test(a_value_that_does_not_fit_is_refused_though_another_comes_later),
		cmocka_unit_test(a_hundred_faults_are_told_and_no_more),
		cmocka_unit_test(patches_are_told_as_upstream_tells_them),
		cmocka_unit_test(patches_of_custom_resources_are_told_as_upstream_tells_them),
		cmocka_unit_test(names_that_come_twice_in_what_is_applied_are_told_by_line),
	};

	return cmocka_run_group_tests_name("api/write_faults", tests, NULL, NULL);
}
