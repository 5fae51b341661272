/*
 * The JSON codec against jansson, on documents as an API server meets them: one
 * pod of about 3 KB, and a list of such pods of about 3 MB, both compact.
 *
 * One line per figure, MB/s of ours and of jansson:
 *
 *	json-parse-small 812.0 80.1
 *
 * The two take turns and each counts its best round, so that a busy machine
 * slows both or neither.
 */
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/json/json.h"
#include "json_jansson.h"

enum {
	ROUNDS = 15,
	SMALL_REPEATS = 2000, /* of the document in one round */
	LARGE_REPEATS = 2,
	LARGE_PODS = 1000,
};

#define ARENA_MAX (1024 * MIB)

struct contest {
	const char *name;
	struct str text;
	int repeats;
	char *room; /* what jansson prints into */
	size_t size;
	struct buf out; /* what we print into */
	struct json *ours;
	void *theirs;
};

static void die(const char *what)
{
	(void)fprintf(stderr, "json_bench: %s\n", what);
	exit(1);
}

static void add_metadata(struct buf *b, unsigned i)
{
	(void)buf_printf(
		b,
		"\"metadata\":{\"name\":\"train-%05u\",\"generateName\":\"train-\","
		"\"namespace\":\"team-%u\",\"uid\":\"6f2c1d0e-8a1b-4c3d-9e4f-%012u\","
		"\"resourceVersion\":\"%u\",\"creationTimestamp\":\"2024-05-06T07:08:09Z\","
		"\"labels\":{\"app\":\"train\",\"app.kubernetes.io/name\":\"train\","
		"\"pod-template-hash\":\"7c9f6d4b8\",\"tier\":\"batch\"},"
		"\"annotations\":{\"devices.example.com/profile\":\"a100-80gb\","
		"\"note\":\"first line\\nsecond line with \\\"quotes\\\"\"},"
		"\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\","
		"\"name\":\"train\",\"uid\":\"0d9c8b7a-1111-2222-3333-%012u\","
		"\"controller\":true,\"blockOwnerDeletion\":true}]},",
		i, i % 17, i, 100000 + i, i);
}

static void add_container(struct buf *b, const char *name)
{
	(void)buf_printf(
		b,
		"{\"name\":\"%s\",\"image\":\"registry.example.com/ml/%s:v1.24.3\","
		"\"command\":[\"/usr/bin/train\",\"--epochs=20\",\"--batch=512\"],"
		"\"env\":[{\"name\":\"NODE_NAME\",\"valueFrom\":{\"fieldRef\":{\"apiVersion\":"
		"\"v1\","
		"\"fieldPath\":\"spec.nodeName\"}}},{\"name\":\"LEVEL\",\"value\":\"info\"}],"
		"\"ports\":[{\"name\":\"http\",\"containerPort\":8080,\"protocol\":\"TCP\"}],"
		"\"resources\":{\"limits\":{\"cpu\":\"4\",\"memory\":\"16Gi\"},"
		"\"requests\":{\"cpu\":\"500m\",\"memory\":\"8Gi\"},\"claims\":[{\"name\":\"gpu\"}]"
		"},"
		"\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":\"/var/lib/data\","
		"\"readOnly\":true}],\"terminationMessagePath\":\"/dev/termination-log\","
		"\"imagePullPolicy\":\"IfNotPresent\",\"securityContext\":{\"privileged\":false,"
		"\"runAsUser\":1000}}",
		name, name);
}

static void add_spec(struct buf *b, unsigned i)
{
	(void)buf_addz(b,
		       "\"spec\":{\"volumes\":[{\"name\":\"data\",\"hostPath\":{\"path\":\"/data\","
		       "\"type\":\"Directory\"}}],\"containers\":[");
	add_container(b, "worker");
	(void)buf_addc(b, ',');
	add_container(b, "sidecar");
	(void)buf_printf(b,
			 "],\"restartPolicy\":\"OnFailure\",\"terminationGracePeriodSeconds\":30,"
			 "\"dnsPolicy\":\"ClusterFirst\",\"nodeName\":\"node-%03u\",\"priority\":0,"
			 "\"schedulerName\":\"default-scheduler\",\"tolerations\":[{\"key\":"
			 "\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\",\"effect\":"
			 "\"NoExecute\",\"tolerationSeconds\":300}],\"resourceClaims\":[{\"name\":"
			 "\"gpu\",\"resourceClaimTemplateName\":\"one-gpu\"}]},",
			 i % 100);
}

static void add_status(struct buf *b, unsigned i)
{
	static const char *const types[] = { "Initialized", "Ready", "ContainersReady",
					     "PodScheduled" };

	(void)buf_addz(b, "\"status\":{\"phase\":\"Running\",\"conditions\":[");
	for (size_t k = 0; k < ARRAY_SIZE(types); k++)
		(void)buf_printf(b,
				 "%s{\"type\":\"%s\",\"status\":\"True\",\"lastProbeTime\":null,"
				 "\"lastTransitionTime\":\"2024-05-06T07:08:%02uZ\"}",
				 k ? "," : "", types[k], i % 60);
	(void)buf_printf(b,
			 "],\"hostIP\":\"10.0.%u.%u\",\"podIP\":\"10.1.%u.%u\",\"load\":%u.%02u,"
			 "\"observedGeneration\":%u,\"qosClass\":\"Burstable\"}",
			 i / 250, i % 250, i / 250, i % 250, i % 8, i % 100, i % 9);
}

static void add_pod(struct buf *b, unsigned i)
{
	(void)buf_addz(b, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",");
	add_metadata(b, i);
	add_spec(b, i);
	add_status(b, i);
	(void)buf_addc(b, '}');
}

static void add_list(struct buf *b)
{
	(void)buf_addz(b, "{\"apiVersion\":\"v1\",\"kind\":\"PodList\","
			  "\"metadata\":{\"resourceVersion\":\"123456\"},\"items\":[");
	for (unsigned i = 0; i < LARGE_PODS; i++) {
		if (i)
			(void)buf_addc(b, ',');
		add_pod(b, i);
	}
	(void)buf_addz(b, "]}");
}

static void parse_ours(struct contest *c)
{
	CLEANUP(arena_release) struct arena a;
	struct json *v;

	arena_init(&a, ARENA_MAX);
	if (json_parse(&a, c->text, NULL, &v, NULL) < 0)
		die("our parser refuses the document");
}

static void parse_theirs(struct contest *c)
{
	void *v = jansson_parse(c->text.p, c->text.n);

	if (!v)
		die("jansson refuses the document");
	jansson_release(v);
}

static void print_ours(struct contest *c)
{
	buf_clear(&c->out);
	if (json_print(&c->out, c->ours, NULL) < 0)
		die("our printer fails");
}

static void print_theirs(struct contest *c)
{
	if (!jansson_print(c->theirs, c->room, c->size))
		die("jansson's printer fails");
}

/* MB/s of one round. */
static double round_of(struct contest *c, void (*work)(struct contest *c))
{
	const struct clock *clock = clock_system();
	int64_t start = clock_monotonic(clock);

	for (int i = 0; i < c->repeats; i++)
		work(c);
	return (double)c->text.n * c->repeats * 1e3 / (double)(clock_monotonic(clock) - start);
}

static void compete(struct contest *c, const char *verb, void (*ours)(struct contest *c),
		    void (*theirs)(struct contest *c))
{
	double best_ours = 0, best_theirs = 0, speed;

	for (int i = 0; i < ROUNDS; i++) {
		speed = round_of(c, ours);
		best_ours = MAX(best_ours, speed);
		speed = round_of(c, theirs);
		best_theirs = MAX(best_theirs, speed);
	}
	(void)printf("json-%s-%s %.1f %.1f\n", verb, c->name, best_ours, best_theirs);
}

static void run(const char *name, struct str text, int repeats)
{
	CLEANUP(arena_release) struct arena a;
	struct contest c = { .name = name, .text = text, .repeats = repeats, .size = 2 * text.n };

	arena_init(&a, ARENA_MAX);
	buf_init(&c.out, ARENA_MAX);
	c.room = malloc(c.size);
	c.theirs = jansson_parse(text.p, text.n);
	if (!c.room || !c.theirs || json_parse(&a, text, NULL, &c.ours, NULL) < 0)
		die("cannot prepare the documents");
	compete(&c, "parse", parse_ours, parse_theirs);
	compete(&c, "print", print_ours, print_theirs);
	jansson_release(c.theirs);
	free(c.room);
	buf_release(&c.out);
}

int main(void)
{
	CLEANUP(buf_release) struct buf small = BUF_INIT(16 * MIB);
	CLEANUP(buf_release) struct buf large = BUF_INIT(16 * MIB);

	add_pod(&small, 7);
	add_list(&large);
	run("small", buf_str(&small), SMALL_REPEATS);
	run("large", buf_str(&large), LARGE_REPEATS);
	return 0;
}
