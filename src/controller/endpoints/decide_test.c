/*
 * The slices planned for Services, pods and claims, without a server: a table of single decisions,
 * then sequences in which every decision is applied before the next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "base/core/random.h"
#include "base/core/vec.h"
#include "base/yaml/yaml.h"
#include "controller/endpoints/decide.h"
#include "controller/endpoints/slices.h"

/* --- a world in YAML ------------------------------------------------------------------------- */

#define WEB(annotations, spec)                                                            \
	"metadata: {name: web, namespace: ns, uid: s1, annotations: {" annotations "}}\n" \
	"spec: {" spec "}\n"
#define BLUE     "devplane.dev/network: blue"
#define PORTS    "ports: [{port: 80, protocol: TCP}]"
#define HEADLESS "clusterIP: None, selector: {app: web}, " PORTS
#define SERVICE  WEB(BLUE, HEADLESS)

#define RUNNING "phase: Running, conditions: [{type: Ready, status: 'True'}]"
#define POD_AS(name, meta, spec, status)                                                           \
	"- {metadata: {name: " name ", namespace: ns, uid: u-" name meta                           \
	"}, spec: {nodeName: n1, "                                                                 \
	"resourceClaims: [{name: blue, resourceClaimName: c-" name "}]" spec "}, status: {" status \
	"}}\n"
#define POD(name) POD_AS(name, ", labels: {app: web}", "", RUNNING)

#define CLAIM(pod, devices)                                                                  \
	"- {metadata: {name: c-" pod "}, status: {reservedFor: [{resource: pods, name: " pod \
	", uid: u-" pod "}], devices: [" devices "]}}\n"
#define DEV_AS(ips, more) "{driver: d, pool: p, device: x, networkData: {ips: [" ips "]}" more "}"
#define DEV(ips)          DEV_AS(ips, "")

struct world {
	struct arena arena;
	VEC(struct json *) slices;
	unsigned names;
};

static void world_init(struct world *w)
{
	*w = (struct world){ 0 };
	arena_init(&w->arena, SIZE_MAX);
	vec_init(&w->slices, SIZE_MAX);
}

static void world_release(struct world *w)
{
	vec_release(&w->slices);
	arena_release(&w->arena);
}

static struct json *parse(struct arena *a, const char *yaml)
{
	struct json *v = NULL;
	struct error err;

	if (yaml_parse(a, str_from(arena_strdup(a, str_from(yaml))), NULL, &v, &err) < 0)
		fail_msg("%s: %s", err.msg, yaml);
	return v;
}

static struct str json_label(const void *labels, struct str key)
{
	return json_str(json_get(labels, key));
}

static const struct json *find_named(const struct json *list, struct str name)
{
	JSON_FOREACH (it, list) {
		if (str_eq(json_text_at(json_getz(it, "metadata"), "name"), name))
			return it;
	}
	return NULL;
}

static void add_pods(struct network_wanted *w, const struct json *pods, const struct json *claims)
{
	JSON_FOREACH (pod, pods) {
		const struct json *labels = json_getz(json_getz(pod, "metadata"), "labels");
		const struct json *trees[8] = { NULL };
		struct network_claim_ref *refs;
		size_t n = network_pod_claims(w->arena, pod, &refs);

		assert_in_range(n, 0, ARRAY_SIZE(trees));
		for (size_t i = 0; i < n; i++)
			trees[i] = find_named(claims, refs[i].claim);
		if (network_service_selects(&w->says, json_label, labels))
			network_wanted_add(w, pod, refs, trees, n);
	}
}

/* --- in words -------------------------------------------------------------------------------- */

static void print_slice(struct buf *out, const struct json *slice)
{
	(void)buf_printf(out, "%.*s [", STR_ARG(json_text_at(slice, "addressType")));
	JSON_FOREACH (p, json_getz(slice, "ports"))
		(void)buf_printf(out, "%s%.*s:%lld/%.*s%s%.*s",
				 p == json_first(json_getz(slice, "ports")) ? "" : " ",
				 STR_ARG(json_text_at(p, "name")),
				 (long long)json_i64_at(p, "port", -1),
				 STR_ARG(json_text_at(p, "protocol")),
				 json_getz(p, "appProtocol") ? "/" : "",
				 STR_ARG(json_text_at(p, "appProtocol")));
	(void)buf_addz(out, "]");
	JSON_FOREACH (e, json_getz(slice, "endpoints")) {
		const struct json *c = json_getz(e, "conditions");

		assert_int_equal(json_count(json_getz(e, "addresses")), 1);
		(void)buf_printf(out, " %.*s=%.*s%s%s%s%s%.*s",
				 STR_ARG(json_str(json_first(json_getz(e, "addresses")))),
				 STR_ARG(json_text_at(json_getz(e, "targetRef"), "name")),
				 json_true_at(c, "ready") ? "+ready" : "",
				 json_true_at(c, "serving") ? "+serving" : "",
				 json_true_at(c, "terminating") ? "+terminating" : "",
				 json_getz(e, "hostname") ? "@" : "",
				 STR_ARG(json_text_at(e, "hostname")));
	}
}

static void print_write(struct buf *out, const struct network_write *w)
{
	static const char *const verbs[] = { "create", "update", "delete" };
	struct str name = json_text_at(json_getz(w->slice, "metadata"), "name");

	(void)buf_printf(out, "%s%s", out->n > 0 ? "; " : "", verbs[w->verb]);
	if (name.n > 0)
		(void)buf_printf(out, " %.*s", STR_ARG(name));
	if (w->verb == NETWORK_DELETE)
		return;
	(void)buf_addc(out, ' ');
	print_slice(out, w->slice);
}

/* Does what a server would do with a write. */
static void apply(struct world *w, const struct network_write *write)
{
	struct json *meta = json_getz(write->slice, "metadata"), *copy;
	size_t at = 0;

	if (write->verb == NETWORK_CREATE) {
		assert_null(json_getz(meta, "name"));
		assert_true(str_eqz(json_text_at(meta, "generateName"), "web-"));
		assert_int_equal(json_copy(&w->arena, write->slice, &copy, NULL), 0);
		json_put_str(&w->arena, json_getz(copy, "metadata"), "name",
			     str_from(arena_printf(&w->arena, "web-%u", ++w->names)));
		assert_true(vec_push(&w->slices, copy));
		return;
	}
	while (at < w->slices.n && w->slices.v[at] != write->slice)
		at++;
	assert_in_range(at, 0, w->slices.n - 1);
	if (write->verb == NETWORK_DELETE)
		vec_remove(&w->slices, at);
}

/* Decides and applies; returns the writes as text. */
static struct str decide(struct world *w, const char *service_yaml, const struct json *pods,
			 const struct json *claims)
{
	struct json *service = parse(&w->arena, service_yaml);
	struct buf out = BUF_INIT(SIZE_MAX);
	struct network_wanted wanted;
	struct network_service says;
	struct str text;
	struct error err;

	if (network_service_read(&w->arena, service, &says, &err) <= 0)
		fail_msg("%s does not take part", service_yaml);
	network_wanted_init(&wanted, &w->arena, service, &says);
	add_pods(&wanted, pods, claims);
	for (const struct network_write *it =
		     network_slices_plan(&wanted, w->slices.v, w->slices.n);
	     it; it = it->next) {
		print_write(&out, it);
		apply(w, it);
	}
	network_wanted_release(&wanted);
	text = arena_str(&w->arena, buf_str(&out));
	buf_release(&out);
	return text;
}

static void assert_decides(struct world *w, const char *service, const char *pods,
			   const char *claims, const char *expected)
{
	struct str text = decide(w, service, parse(&w->arena, pods), parse(&w->arena, claims));

	assert_string_equal(text.n > 0 ? text.p : "", expected);
}

/* --- single decisions ------------------------------------------------------------------------ */

static const struct {
	const char *title, *service, *pods, *claims, *expected;
} cases[] = {
	{ "one pod, one address", SERVICE, POD("a"), CLAIM("a", DEV("10.9.0.1/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
	{ "both families, a slice each", SERVICE, POD("a"),
	  CLAIM("a", DEV("10.9.0.1/24, 'fd00::1/64'")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving; "
	  "create IPv6 [:80/TCP] fd00::1=a+ready+serving" },
	{ "two addresses are two endpoints", SERVICE, POD("a"),
	  CLAIM("a", DEV("10.9.0.1/24, 10.9.0.2/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving 10.9.0.2=a+ready+serving" },
	{ "two entries with one address are one endpoint", SERVICE, POD("a"),
	  CLAIM("a", DEV("10.9.0.1/24") ", " DEV("10.9.0.1/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
	{ "of two entries the better one counts", SERVICE, POD("a"),
	  CLAIM("a",
		DEV_AS("10.9.0.1/24",
		       ", conditions: [{type: Ready, status: 'False'}]") ", " DEV("10.9.0.1/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
	{ "link-local, loopback and unspecified addresses are not told", SERVICE, POD("a"),
	  CLAIM("a", DEV("169.254.1.1/16, 127.0.0.5/8, 0.0.0.0/0, 224.0.0.9/24, 'fe80::1/64', "
			 "'::1/128', '::/0', 'ff02::1/16', 10.9.0.1/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
	{ "what is no address is not told", SERVICE, POD("a"),
	  CLAIM("a", DEV("'', x/24, 10.9.0/24, 10.9.0.1.2/24, 'fd00:::1/64', 010.9.0.1/24")), "" },
	{ "the network is named by data", SERVICE, POD("a"),
	  CLAIM("a", DEV_AS("10.9.0.1/24", ", data: {network: red}") ", " DEV("10.9.0.2/24")),
	  "create IPv4 [:80/TCP] 10.9.0.2=a+ready+serving" },
	{ "data's name goes before the pod's", WEB("devplane.dev/network: red", HEADLESS), POD("a"),
	  CLAIM("a", DEV_AS("10.9.0.1/24", ", data: {network: red}") ", " DEV("10.9.0.2/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
	{ "a network that is no text is none", SERVICE, POD("a"),
	  CLAIM("a", DEV_AS("10.9.0.1/24", ", data: {network: 5}")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
	{ "an entry without network data has no endpoint", SERVICE, POD("a"),
	  CLAIM("a", "{driver: d, pool: p, device: x}"), "" },
	{ "a claim that is not known has no endpoint", SERVICE, POD("a"), "[]", "" },
	{ "a claim without status has none", SERVICE, POD("a"), "- {metadata: {name: c-a}}\n", "" },
	{ "a claim reserved for another pod has none", SERVICE, POD("a"),
	  "- {metadata: {name: c-a}, status: {reservedFor: [{resource: pods, name: a, uid: old}], "
	  "devices: [" DEV("10.9.0.1/24") "]}}\n",
	  "" },
	{ "a claim reserved for something else of that uid has none", SERVICE, POD("a"),
	  "- {metadata: {name: c-a}, status: {reservedFor: [{resource: jobs, name: a, uid: u-a}], "
	  "devices: [" DEV("10.9.0.1/24") "]}}\n",
	  "" },
	{ "a claim from a template, by the pod's status", SERVICE,
	  "- {metadata: {name: a, uid: u-a, labels: {app: web}}, spec: {nodeName: n1, "
	  "resourceClaims: [{name: blue, resourceClaimTemplateName: t}]}, status: {" RUNNING
	  ", resourceClaimStatuses: [{name: blue, resourceClaimName: c-a}]}}\n",
	  CLAIM("a", DEV("10.9.0.1/24")), "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
	{ "a claim from a template that is not made yet", SERVICE,
	  "- {metadata: {name: a, uid: u-a, labels: {app: web}}, spec: {nodeName: n1, "
	  "resourceClaims: [{name: blue, resourceClaimTemplateName: t}]}, status: {" RUNNING "}}\n",
	  CLAIM("a", DEV("10.9.0.1/24")), "" },
	{ "a pod that is not ready", SERVICE,
	  POD_AS("a", ", labels: {app: web}", "",
		 "phase: Running, conditions: [{type: Ready, status: 'False'}]"),
	  CLAIM("a", DEV("10.9.0.1/24")), "create IPv4 [:80/TCP] 10.9.0.1=a" },
	{ "a pod without conditions", SERVICE,
	  POD_AS("a", ", labels: {app: web}", "", "phase: Pending"), CLAIM("a", DEV("10.9.0.1/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a" },
	{ "a device that is not ready", SERVICE, POD("a"),
	  CLAIM("a", DEV_AS("10.9.0.1/24", ", conditions: [{type: Ready, status: 'False'}]")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a" },
	{ "a device of which nobody knows", SERVICE, POD("a"),
	  CLAIM("a", DEV_AS("10.9.0.1/24", ", conditions: [{type: Ready, status: Unknown}]")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
	{ "a pod that ends", SERVICE,
	  POD_AS("a", ", labels: {app: web}, deletionTimestamp: '2024-01-01T00:00:00Z'", "",
		 RUNNING),
	  CLAIM("a", DEV("10.9.0.1/24")), "create IPv4 [:80/TCP] 10.9.0.1=a+serving+terminating" },
	{ "addresses of what is not ready are told as ready when the Service says so",
	  WEB(BLUE, HEADLESS ", publishNotReadyAddresses: true"),
	  POD_AS("a", ", labels: {app: web}", "", "phase: Running"), CLAIM("a", DEV("10.9.0.1/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready" },
	{ "a pod that has failed", SERVICE,
	  POD_AS("a", ", labels: {app: web}", "", "phase: Failed"), CLAIM("a", DEV("10.9.0.1/24")),
	  "" },
	{ "a pod that is done", SERVICE,
	  POD_AS("a", ", labels: {app: web}", "", "phase: Succeeded"),
	  CLAIM("a", DEV("10.9.0.1/24")), "" },
	{ "a pod without a node", SERVICE,
	  "- {metadata: {name: a, uid: u-a, labels: {app: web}}, spec: {resourceClaims: [{name: "
	  "blue, resourceClaimName: c-a}]}, status: {" RUNNING "}}\n",
	  CLAIM("a", DEV("10.9.0.1/24")), "" },
	{ "a pod that is not selected", SERVICE, POD_AS("a", ", labels: {app: db}", "", RUNNING),
	  CLAIM("a", DEV("10.9.0.1/24")), "" },
	{ "a pod without labels", SERVICE, POD_AS("a", "", "", RUNNING),
	  CLAIM("a", DEV("10.9.0.1/24")), "" },
	{ "a selector in an annotation",
	  WEB(BLUE ", devplane.dev/network-selector: 'app=web,tier in (a,b),!old'",
	      "clusterIP: None, " PORTS),
	  POD_AS("a", ", labels: {app: web, tier: a}", "", RUNNING)
		  POD_AS("b", ", labels: {app: web, tier: c}", "", RUNNING)
			  POD_AS("c", ", labels: {app: web, tier: b, old: x}", "", RUNNING),
	  CLAIM("a", DEV("10.9.0.1/24")) CLAIM("b", DEV("10.9.0.2/24"))
		  CLAIM("c", DEV("10.9.0.3/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
	{ "the Service's own selector goes before the annotation's",
	  WEB(BLUE ", devplane.dev/network-selector: app=db", HEADLESS),
	  POD("a") POD_AS("b", ", labels: {app: db}", "", RUNNING),
	  CLAIM("a", DEV("10.9.0.1/24")) CLAIM("b", DEV("10.9.0.2/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
	{ "without a selector nobody is selected", WEB(BLUE, "clusterIP: None, " PORTS), POD("a"),
	  CLAIM("a", DEV("10.9.0.1/24")), "" },
	{ "only the families of the Service", WEB(BLUE, HEADLESS ", ipFamilies: [IPv6]"), POD("a"),
	  CLAIM("a", DEV("10.9.0.1/24, 'fd00::1/64'")),
	  "create IPv6 [:80/TCP] fd00::1=a+ready+serving" },
	{ "the family of the cluster IP when there are none",
	  WEB(BLUE, "clusterIP: 10.0.0.9, selector: {app: web}, " PORTS), POD("a"),
	  CLAIM("a", DEV("10.9.0.1/24, 'fd00::1/64'")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
	{ "the same for IPv6", WEB(BLUE, "clusterIP: 'fd00:1::9', selector: {app: web}, " PORTS),
	  POD("a"), CLAIM("a", DEV("10.9.0.1/24, 'fd00::1/64'")),
	  "create IPv6 [:80/TCP] fd00::1=a+ready+serving" },
	{ "a headless Service without ports", WEB(BLUE, "clusterIP: None, selector: {app: web}"),
	  POD("a"), CLAIM("a", DEV("10.9.0.1/24")), "create IPv4 [] 10.9.0.1=a+ready+serving" },
	{ "target ports by number, names and protocols kept",
	  WEB(BLUE, "selector: {app: web}, ports: [{name: h, port: 80, targetPort: 8080, protocol: "
		    "TCP, appProtocol: kubernetes.io/h2c}, {name: d, port: 53, protocol: UDP}]"),
	  POD("a"), CLAIM("a", DEV("10.9.0.1/24")),
	  "create IPv4 [d:53/UDP h:8080/TCP/kubernetes.io/h2c] 10.9.0.1=a+ready+serving" },
	{ "target ports by name are each pod's own; those that agree share a slice",
	  WEB(BLUE, "selector: {app: web}, ports: [{port: 80, targetPort: http}]"),
	  POD_AS("a", ", labels: {app: web}",
		 ", containers: [{ports: [{name: http, containerPort: 8080}]}]", RUNNING)
		  POD_AS("b", ", labels: {app: web}",
			 ", containers: [{}, {ports: [{name: http, containerPort: 9090, protocol: "
			 "TCP}]}]",
			 RUNNING)
			  POD_AS("c", ", labels: {app: web}",
				 ", initContainers: [{restartPolicy: Always, ports: [{name: http, "
				 "containerPort: 8080}]}]",
				 RUNNING),
	  CLAIM("a", DEV("10.9.0.1/24")) CLAIM("b", DEV("10.9.0.2/24"))
		  CLAIM("c", DEV("10.9.0.3/24")),
	  "create IPv4 [:8080/TCP] 10.9.0.1=a+ready+serving 10.9.0.3=c+ready+serving; "
	  "create IPv4 [:9090/TCP] 10.9.0.2=b+ready+serving" },
	{ "a port's name counts with its protocol only, and not of containers that come and go",
	  WEB(BLUE, "selector: {app: web}, ports: [{port: 80, targetPort: http}]"),
	  POD_AS("a", ", labels: {app: web}",
		 ", containers: [{ports: [{name: http, containerPort: 8080, protocol: UDP}]}], "
		 "initContainers: [{ports: [{name: http, containerPort: 8081}]}]",
		 RUNNING),
	  CLAIM("a", DEV("10.9.0.1/24")), "create IPv4 [] 10.9.0.1=a+ready+serving" },
	{ "a host name when the pod's subdomain is the Service", SERVICE,
	  POD_AS("a", ", labels: {app: web}", ", hostname: h1, subdomain: web", RUNNING)
		  POD_AS("b", ", labels: {app: web}", ", hostname: h2, subdomain: other", RUNNING),
	  CLAIM("a", DEV("10.9.0.1/24")) CLAIM("b", DEV("10.9.0.2/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving@h1 10.9.0.2=b+ready+serving" },
	{ "a Service that is on its way out gets no new slices",
	  "metadata: {name: web, namespace: ns, uid: s1, deletionTimestamp: x, annotations: {" BLUE
	  "}}\nspec: {" HEADLESS "}\n",
	  POD("a"), CLAIM("a", DEV("10.9.0.1/24")), "" },
	{ "a claim that two pods share gives its addresses to both", SERVICE,
	  POD("a") "- {metadata: {name: b, uid: u-b, labels: {app: web}}, spec: {nodeName: n1, "
		   "resourceClaims: [{name: blue, resourceClaimName: c-a}]}, status: {" RUNNING
		   "}}\n",
	  "- {metadata: {name: c-a}, status: {reservedFor: [{resource: pods, uid: u-a}, {resource: "
	  "pods, uid: u-b}], devices: [" DEV("10.9.0.1/24") "]}}\n",
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving 10.9.0.1=b+ready+serving" },
	{ "several claims of a pod, of which one is on the network", SERVICE,
	  "- {metadata: {name: a, uid: u-a, labels: {app: web}}, spec: {nodeName: n1, "
	  "resourceClaims: [{name: gpu, resourceClaimName: c-b}, {name: blue, resourceClaimName: "
	  "c-a}]}, status: {" RUNNING "}}\n",
	  "- {metadata: {name: c-b}, status: {reservedFor: [{resource: pods, uid: u-a}], devices: "
	  "[" DEV("10.9.0.9/24") "]}}\n" CLAIM("a", DEV("10.9.0.1/24")),
	  "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving" },
};

static void slices_are_what_the_table_says(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct world w;

		world_init(&w);
		print_message("# %s\n", cases[i].title);
		assert_decides(&w, cases[i].service, cases[i].pods, cases[i].claims,
			       cases[i].expected);
		/* Slices that are right are not written again. */
		assert_decides(&w, cases[i].service, cases[i].pods, cases[i].claims, "");
		world_release(&w);
	}
}

/* --- opting in ------------------------------------------------------------------------------- */

static void services_take_part_by_their_annotation(void **state UNUSED)
{
	static const struct {
		const char *service, *why; /* why: the error; NULL: does not opt in */
	} rows[] = {
		{ "metadata: {name: web}\nspec: {selector: {app: web}}\n", NULL },
		{ WEB("other: blue", HEADLESS), NULL },
		{ WEB(BLUE, "type: ExternalName, externalName: x"), NULL },
		{ WEB("devplane.dev/network: ''", HEADLESS),
		  "annotation devplane.dev/network is empty" },
		{ WEB("devplane.dev/network: '  '", HEADLESS),
		  "annotation devplane.dev/network is empty" },
		{ WEB(BLUE ", devplane.dev/network-selector: ''", PORTS),
		  "annotation devplane.dev/network-selector is empty" },
		{ WEB(BLUE ", devplane.dev/network-selector: 'a in ('", PORTS),
		  "annotation devplane.dev/network-selector: " },
	};
	struct arena a;

	arena_init(&a, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct network_service says;
		struct error err = { 0 };
		int r = network_service_read(&a, parse(&a, rows[i].service), &says, &err);

		assert_int_equal(r, rows[i].why ? -ERR_INVALID : 0);
		if (rows[i].why && !strstr(err.msg, rows[i].why))
			fail_msg("%s is not in %s", rows[i].why, err.msg);
	}
	arena_release(&a);
}

/* --- content of a slice ---------------------------------------------------------------------- */

static void a_slice_has_labels_and_owner_as_upstream_makes_them(void **state UNUSED)
{
	static const char *const service =
		"metadata: {name: web, namespace: ns, uid: s1, labels: {team: x, "
		"kubernetes.io/service-name: lie}, annotations: {" BLUE "}}\nspec: {" HEADLESS
		"}\n";
	struct buf out = BUF_INIT(SIZE_MAX);
	struct world w;

	world_init(&w);
	(void)decide(&w, service, parse(&w.arena, POD("a")),
		     parse(&w.arena, CLAIM("a", DEV("10.9.0.1/24"))));
	assert_int_equal(w.slices.n, 1);
	assert_int_equal(json_print(&out, w.slices.v[0], NULL), 0);
	assert_string_equal(
		out.p,
		"{\"apiVersion\":\"discovery.k8s.io/v1\",\"kind\":\"EndpointSlice\",\"metadata\":{"
		"\"generateName\":\"web-\",\"namespace\":\"ns\",\"labels\":{\"team\":\"x\","
		"\"service.kubernetes.io/headless\":\"\",\"kubernetes.io/service-name\":\"web\","
		"\"endpointslice.kubernetes.io/managed-by\":\"devplane-network-endpoints\"},"
		"\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"name\":\"web\","
		"\"uid\":\"s1\",\"controller\":true,\"blockOwnerDeletion\":true}],\"name\":\"web-"
		"1\"}"
		",\"addressType\":\"IPv4\",\"ports\":[{\"name\":\"\",\"protocol\":\"TCP\",\"port\":"
		"80}"
		"],\"endpoints\":[{\"addresses\":[\"10.9.0.1\"],\"conditions\":{\"ready\":true,"
		"\"serving\":true,\"terminating\":false},\"targetRef\":{\"kind\":\"Pod\","
		"\"namespace\":"
		"\"ns\",\"name\":\"a\",\"uid\":\"u-a\"},\"nodeName\":\"n1\"}]}");
	buf_release(&out);
	world_release(&w);
}

static void labels_follow_the_service(void **state UNUSED)
{
	static const char *const pods = POD("a"), *const claims = CLAIM("a", DEV("10.9.0.1/24"));
	static const char *const labelled =
		"metadata: {name: web, namespace: ns, uid: s1, labels: {team: z}, annotations: "
		"{" BLUE
		"}}\nspec: {selector: {app: web}, clusterIP: 10.0.0.9, ipFamilies: [IPv4], " PORTS
		"}\n";
	struct world w;
	const struct json *labels;

	world_init(&w);
	assert_decides(&w, SERVICE, pods, claims, "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving");
	assert_decides(&w, labelled, pods, claims,
		       "update web-1 IPv4 [:80/TCP] 10.9.0.1=a+ready+serving");
	labels = json_getz(json_getz(w.slices.v[0], "metadata"), "labels");
	assert_int_equal(json_count(labels), 3);
	assert_true(str_eqz(json_text_at(labels, "team"), "z"));
	assert_decides(&w, labelled, pods, claims, "");
	world_release(&w);
}

/* --- sequences ------------------------------------------------------------------------------- */

static void an_address_that_changes_stays_in_its_slice(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	assert_decides(&w, SERVICE, POD("a") POD("b"),
		       CLAIM("a", DEV("10.9.0.1/24")) CLAIM("b", DEV("10.9.0.2/24")),
		       "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving 10.9.0.2=b+ready+serving");
	assert_decides(
		&w, SERVICE, POD("a") POD("b"),
		CLAIM("a", DEV("10.9.0.7/24")) CLAIM("b", DEV("10.9.0.2/24")),
		"update web-1 IPv4 [:80/TCP] 10.9.0.2=b+ready+serving 10.9.0.7=a+ready+serving");
	assert_decides(&w, SERVICE, POD("b") POD("a"),
		       CLAIM("a", DEV("10.9.0.7/24")) CLAIM("b", DEV("10.9.0.2/24")), "");
	world_release(&w);
}

static void all_addresses_changing_is_one_update(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", DEV("10.9.0.1/24")),
		       "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving");
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", DEV("10.9.0.2/24")),
		       "update web-1 IPv4 [:80/TCP] 10.9.0.2=a+ready+serving");
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", DEV("'fd00::1/64'")),
		       "create IPv6 [:80/TCP] fd00::1=a+ready+serving; delete web-1");
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", ""), "delete web-2");
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", ""), "");
	world_release(&w);
}

static void a_pod_of_the_same_name_is_told_anew(void **state UNUSED)
{
	static const char *const again =
		"- {metadata: {name: a, uid: u2, labels: {app: web}}, spec: {nodeName: n1, "
		"resourceClaims: [{name: blue, resourceClaimName: c-a}]}, status: {" RUNNING "}}\n";
	static const char *const claims =
		"- {metadata: {name: c-a}, status: {reservedFor: [{resource: pods, uid: u2}], "
		"devices: [" DEV("10.9.0.1/24") "]}}\n";
	struct world w;

	world_init(&w);
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", DEV("10.9.0.1/24")),
		       "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving");
	assert_decides(&w, SERVICE, again, claims,
		       "update web-1 IPv4 [:80/TCP] 10.9.0.1=a+ready+serving");
	world_release(&w);
}

static void ports_that_change_are_written_into_the_slice_that_is_there(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", DEV("10.9.0.1/24")),
		       "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving");
	assert_decides(&w, WEB(BLUE, "selector: {app: web}, clusterIP: None, ports: [{port: 81}]"),
		       POD("a"), CLAIM("a", DEV("10.9.0.1/24")),
		       "update web-1 IPv4 [:81/TCP] 10.9.0.1=a+ready+serving");
	world_release(&w);
}

static void slices_of_a_service_that_is_gone_are_not_taken_over(void **state UNUSED)
{
	static const char *const again =
		"metadata: {name: web, namespace: ns, uid: s2, annotations: {" BLUE
		"}}\nspec: {" HEADLESS "}\n";
	struct world w;

	world_init(&w);
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", DEV("10.9.0.1/24")),
		       "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving");
	assert_decides(&w, again, POD("a"), CLAIM("a", DEV("10.9.0.1/24")),
		       "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving; delete web-1");
	world_release(&w);
}

static void a_slice_that_goes_anyhow_is_not_counted(void **state UNUSED)
{
	struct world w;

	world_init(&w);
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", DEV("10.9.0.1/24")),
		       "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving");
	json_put_str(&w.arena, json_getz(w.slices.v[0], "metadata"), "deletionTimestamp",
		     STR("2024-01-01T00:00:00Z"));
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", DEV("10.9.0.1/24")),
		       "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving");
	world_release(&w);
}

static void an_endpoint_that_is_there_twice_is_taken_out_once(void **state UNUSED)
{
	struct json *copy;
	struct world w;

	world_init(&w);
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", DEV("10.9.0.1/24")),
		       "create IPv4 [:80/TCP] 10.9.0.1=a+ready+serving");
	assert_int_equal(json_copy(&w.arena, w.slices.v[0], &copy, NULL), 0);
	json_put_str(&w.arena, json_getz(copy, "metadata"), "name", STR("twin"));
	assert_true(vec_push(&w.slices, copy));
	assert_decides(&w, SERVICE, POD("a"), CLAIM("a", DEV("10.9.0.1/24")), "delete twin");
	world_release(&w);
}

/* --- many pods ------------------------------------------------------------------------------- */

/* Pods p0.. and claims with one address each, if `there` is set. */
static void make_many(struct arena *a, const bool *there, const unsigned *address, size_t n,
		      struct json **ret_pods, struct json **ret_claims)
{
	*ret_pods = json_make_array(a);
	*ret_claims = json_make_array(a);
	for (size_t i = 0; i < n; i++) {
		struct json *pods, *claims;

		if (!there[i])
			continue;
		pods = parse(a,
			     arena_printf(a, "%s",
					  "- {metadata: {namespace: ns, labels: {app: web}}, spec: "
					  "{nodeName: n1, resourceClaims: [{name: blue}]}, status: "
					  "{" RUNNING "}}"));
		claims = parse(
			a, arena_printf(a,
					"- {metadata: {name: c%zu}, status: {reservedFor: "
					"[{resource: pods, uid: u%zu}], devices: [{networkData: "
					"{ips: [10.%u.%u.%u/8]}}]}}",
					i, i, 1 + address[i] / 65536, address[i] / 256 % 256,
					address[i] % 256));
		json_put_str(a, json_getz(json_first(pods), "metadata"), "name",
			     str_from(arena_printf(a, "p%zu", i)));
		json_put_str(a, json_getz(json_first(pods), "metadata"), "uid",
			     str_from(arena_printf(a, "u%zu", i)));
		json_put_str(a,
			     json_first(json_getz(json_getz(json_first(pods), "spec"),
						  "resourceClaims")),
			     "resourceClaimName", str_from(arena_printf(a, "c%zu", i)));
		json_append(*ret_pods, json_unlink(pods, json_first(pods)));
		json_append(*ret_claims, json_unlink(claims, json_first(claims)));
	}
}

static size_t endpoints_of(const struct json *slice)
{
	return json_count(json_getz(slice, "endpoints"));
}

static void two_hundred_and_fifty_pods_make_three_slices(void **state UNUSED)
{
	bool there[250];
	unsigned address[250];
	struct json *pods, *claims;
	struct world w;

	world_init(&w);
	for (unsigned i = 0; i < 250; i++) {
		there[i] = true;
		address[i] = i + 1;
	}
	make_many(&w.arena, there, address, 250, &pods, &claims);
	(void)decide(&w, SERVICE, pods, claims);
	assert_int_equal(w.slices.n, 3);
	assert_int_equal(endpoints_of(w.slices.v[0]), 100);
	assert_int_equal(endpoints_of(w.slices.v[1]), 100);
	assert_int_equal(endpoints_of(w.slices.v[2]), 50);
	/*
	 * One is removed: other slices are untouched. One is added: the gap is filled in one write.
	 */
	there[7] = false;
	make_many(&w.arena, there, address, 250, &pods, &claims);
	assert_true(str_starts(decide(&w, SERVICE, pods, claims), STR("update web-1 ")));
	assert_int_equal(endpoints_of(w.slices.v[0]), 99);
	there[7] = true;
	make_many(&w.arena, there, address, 250, &pods, &claims);
	assert_true(str_starts(decide(&w, SERVICE, pods, claims), STR("update web-1 ")));
	assert_int_equal(endpoints_of(w.slices.v[0]), 100);
	world_release(&w);
}

enum { MANY = 260 };

static int number_in(struct str name, const char *prefix)
{
	uint64_t n;

	assert_true(str_starts(name, str_from(prefix)));
	assert_true(str_to_u64(str_skip(name, strlen(prefix)), &n));
	return (int)n;
}

/* The slice of each pod, by number; -1: none. Fails if a pod is in two. */
static void where_all_are(const struct world *w, int where[static MANY])
{
	for (size_t i = 0; i < MANY; i++)
		where[i] = -1;
	for (size_t s = 0; s < w->slices.n; s++) {
		const struct json *meta = json_getz(w->slices.v[s], "metadata");
		int slice = number_in(json_text_at(meta, "name"), "web-");

		assert_in_range(endpoints_of(w->slices.v[s]), 1, NETWORK_SLICE_MAX);
		JSON_FOREACH (e, json_getz(w->slices.v[s], "endpoints")) {
			int i = number_in(json_text_at(json_getz(e, "targetRef"), "name"), "p");

			assert_in_range(i, 0, MANY - 1);
			assert_int_equal(where[i], -1);
			where[i] = slice;
		}
	}
}

/* Some are added, some removed: every existing pod has one endpoint, which does not move. */
static void take_step(struct world *w, struct prng *prng, bool there[static MANY],
		      const unsigned address[static MANY])
{
	unsigned odds = (unsigned)prng_below(prng, 100);
	int before[MANY], after[MANY];
	struct json *pods, *claims;

	where_all_are(w, before);
	for (unsigned i = 0; i < MANY; i++) {
		if (prng_below(prng, 100) < 20)
			there[i] = prng_below(prng, 100) < odds;
	}
	make_many(&w->arena, there, address, MANY, &pods, &claims);
	(void)decide(w, SERVICE, pods, claims);
	where_all_are(w, after);
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(after[i] >= 0, there[i]);
		if (before[i] >= 0 && after[i] >= 0)
			assert_int_equal(after[i], before[i]);
	}
	assert_int_equal(decide(w, SERVICE, pods, claims).n, 0);
}

static void any_sequence_ends_right_and_moves_nobody(void **state UNUSED)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		bool there[MANY] = { false };
		unsigned address[MANY] = { 0 };
		struct prng prng;
		struct world w;

		prng_init(&prng, seed);
		world_init(&w);
		for (unsigned i = 0; i < MANY; i++)
			address[i] = i + 1;
		for (unsigned step = 0; step < 12; step++)
			take_step(&w, &prng, there, address);
		world_release(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slices_are_what_the_table_says),
		cmocka_unit_test(services_take_part_by_their_annotation),
		cmocka_unit_test(a_slice_has_labels_and_owner_as_upstream_makes_them),
		cmocka_unit_test(labels_follow_the_service),
		cmocka_unit_test(an_address_that_changes_stays_in_its_slice),
		cmocka_unit_test(all_addresses_changing_is_one_update),
		cmocka_unit_test(a_pod_of_the_same_name_is_told_anew),
		cmocka_unit_test(ports_that_change_are_written_into_the_slice_that_is_there),
		cmocka_unit_test(slices_of_a_service_that_is_gone_are_not_taken_over),
		cmocka_unit_test(a_slice_that_goes_anyhow_is_not_counted),
		cmocka_unit_test(an_endpoint_that_is_there_twice_is_taken_out_once),
		cmocka_unit_test(two_hundred_and_fifty_pods_make_three_slices),
		cmocka_unit_test(any_sequence_ends_right_and_moves_nobody),
	};

	return cmocka_run_group_tests_name("controller/network_endpoints_decide", tests, NULL,
					   NULL);
}
