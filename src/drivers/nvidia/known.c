/* Fields are tables, so that printing and parsing cannot differ. */
#include "drivers/nvidia/known.h"

#include <stddef.h>

#include "base/json/json.h"
#include "base/json/writer.h"

enum known_type { KNOWN_TEXT, KNOWN_U32, KNOWN_U64 };

struct known_field {
	const char *key; /* NULL: the end */
	enum known_type type;
	size_t at;
};

#define FIELD(of, type, name) #name, KNOWN_##type, offsetof(struct of, name)

_Static_assert(sizeof(enum nvml_mig) == sizeof(uint32_t) && sizeof(int) == sizeof(uint32_t),
	       "such members are read as U32");

static const struct known_field gpu_fields[] = {
	{ FIELD(nvml_gpu, TEXT, uuid) },    { FIELD(nvml_gpu, TEXT, name) },
	{ FIELD(nvml_gpu, TEXT, brand) },   { FIELD(nvml_gpu, TEXT, architecture) },
	{ FIELD(nvml_gpu, TEXT, pci) },     { FIELD(nvml_gpu, TEXT, addressing) },
	{ FIELD(nvml_gpu, U32, minor) },    { FIELD(nvml_gpu, U32, cc_major) },
	{ FIELD(nvml_gpu, U32, cc_minor) }, { FIELD(nvml_gpu, U64, memory) },
	{ FIELD(nvml_gpu, U32, mig) },      { NULL },
};

static const struct known_field profile_fields[] = {
	{ FIELD(nvml_profile, U32, id) },
	{ FIELD(nvml_profile, U32, number) },
	{ FIELD(nvml_profile, TEXT, name) },
	{ FIELD(nvml_profile, U32, slices) },
	{ FIELD(nvml_profile, U32, multiprocessors) },
	{ FIELD(nvml_profile, U32, copy_engines) },
	{ FIELD(nvml_profile, U32, decoders) },
	{ FIELD(nvml_profile, U32, encoders) },
	{ FIELD(nvml_profile, U32, jpeg_engines) },
	{ FIELD(nvml_profile, U32, ofa_engines) },
	{ FIELD(nvml_profile, U64, memory) },
	{ FIELD(nvml_profile, U32, instances) },
	{ NULL },
};

static const struct known_field place_fields[] = {
	{ FIELD(nvml_placement, U32, start) },
	{ FIELD(nvml_placement, U32, size) },
	{ NULL },
};

/* An instance of somebody else that has a UUID, so that it may be a device. */
static const struct known_field foreign_fields[] = {
	{ FIELD(gpu_foreign, U32, instance.id) },
	{ FIELD(gpu_foreign, U32, instance.profile) },
	{ FIELD(gpu_foreign, U32, instance.place.start) },
	{ FIELD(gpu_foreign, U32, instance.place.size) },
	{ FIELD(gpu_foreign, U32, instance.compute[0]) },
	{ FIELD(gpu_foreign, TEXT, uuid) },
	{ NULL },
};

/* --- printing -------------------------------------------------------------------------------- */

static void print_fields(struct json_writer *w, const struct known_field *f, const void *from)
{
	for (; f->key; f++) {
		const char *at = (const char *)from + f->at;

		json_writer_keyz(w, f->key);
		if (f->type == KNOWN_U32)
			json_writer_u64(w, *(const uint32_t *)(const void *)at);
		else if (f->type == KNOWN_U64)
			json_writer_u64(w, *(const uint64_t *)(const void *)at);
		else
			json_writer_str(w, *(const struct str *)(const void *)at);
	}
}

static void print_profile(struct json_writer *w, const struct nvml_profile *p)
{
	json_writer_begin_object(w);
	print_fields(w, profile_fields, p);
	json_writer_keyz(w, "placements");
	json_writer_begin_array(w);
	for (size_t i = 0; i < p->nplacements; i++) {
		json_writer_begin_object(w);
		print_fields(w, place_fields, &p->placements[i]);
		json_writer_end_object(w);
	}
	json_writer_end_array(w);
	json_writer_end_object(w);
}

static void print_source(struct json_writer *w, const struct gpu_source *s)
{
	json_writer_begin_object(w);
	print_fields(w, gpu_fields, &s->gpu);
	json_writer_keyz(w, "numa");
	json_writer_i64(w, s->numa);
	json_writer_keyz(w, "pcieRoot");
	json_writer_strz(w, s->pcie_root ? s->pcie_root : "");
	json_writer_keyz(w, "foreignMIG");
	json_writer_bool(w, s->foreign_mig);
	json_writer_keyz(w, "profiles");
	json_writer_begin_array(w);
	for (size_t i = 0; i < s->nprofiles; i++)
		print_profile(w, &s->profiles[i]);
	json_writer_end_array(w);
	json_writer_keyz(w, "foreign");
	json_writer_begin_array(w);
	for (size_t i = 0; i < s->nforeign; i++) {
		if (!s->foreign[i].uuid.n)
			continue;
		json_writer_begin_object(w);
		print_fields(w, foreign_fields, &s->foreign[i]);
		json_writer_end_object(w);
	}
	json_writer_end_array(w);
	json_writer_end_object(w);
}

int nvidia_known_print(const struct gpu_source *v, size_t n, const char *boot, struct buf *out,
		       struct error *err)
{
	struct json_writer w;

	json_writer_init(&w, out, NULL);
	json_writer_begin_object(&w);
	json_writer_keyz(&w, "bootID");
	json_writer_strz(&w, boot);
	json_writer_keyz(&w, "gpus");
	json_writer_begin_array(&w);
	for (size_t i = 0; i < n; i++)
		print_source(&w, &v[i]);
	json_writer_end_array(&w);
	json_writer_end_object(&w);
	return json_writer_finish(&w) < 0 ? error_set(err, ERR_TOO_LARGE, "too many GPUs") : 0;
}

/* --- parsing --------------------------------------------------------------------------------- */

static void parse_fields(struct arena *a, const struct known_field *f, const struct json *from,
			 void *to)
{
	for (; f->key; f++) {
		char *at = (char *)to + f->at;

		if (f->type == KNOWN_U32)
			*(uint32_t *)(void *)at = (uint32_t)json_i64_at(from, f->key, 0);
		else if (f->type == KNOWN_U64)
			*(uint64_t *)(void *)at = (uint64_t)json_i64_at(from, f->key, 0);
		else
			*(struct str *)(void *)at = arena_str(a, json_text_at(from, f->key));
	}
}

static void parse_profile(struct arena *a, const struct json *from, struct nvml_profile *p)
{
	const struct json *places = json_getz(from, "placements");
	struct nvml_placement *v = ARENA_ARRAY(a, struct nvml_placement, json_count(places) + 1);

	parse_fields(a, profile_fields, from, p);
	JSON_FOREACH (it, places)
		parse_fields(a, place_fields, it, &v[p->nplacements++]);
	p->placements = v;
}

static void parse_source(struct arena *a, const struct json *from, struct gpu_source *s)
{
	const struct json *profiles = json_getz(from, "profiles");
	const struct json *others = json_getz(from, "foreign");
	struct nvml_profile *v = ARENA_ARRAY(a, struct nvml_profile, json_count(profiles) + 1);
	struct gpu_foreign *f = ARENA_ARRAY(a, struct gpu_foreign, json_count(others) + 1);
	struct str root = json_text_at(from, "pcieRoot");

	parse_fields(a, gpu_fields, from, &s->gpu);
	s->gpu.mig_pending = s->gpu.mig;
	s->numa = (int)json_i64_at(from, "numa", -1);
	s->pcie_root = root.n ? arena_strdup(a, root) : NULL;
	s->foreign_mig = json_true_at(from, "foreignMIG");
	JSON_FOREACH (it, profiles)
		parse_profile(a, it, &v[s->nprofiles++]);
	JSON_FOREACH (it, others) {
		parse_fields(a, foreign_fields, it, &f[s->nforeign]);
		f[s->nforeign++].instance.ncompute = 1;
	}
	s->profiles = v;
	s->foreign = f;
}

int nvidia_known_parse(struct arena *a, struct str text, const char *boot, struct gpu_source **ret,
		       size_t *count, struct error *err)
{
	struct json *tree = NULL;
	const struct json *gpus;
	int r = json_parse(a, text, NULL, &tree, err);

	if (r < 0)
		return r;
	gpus = str_eqz(json_text_at(tree, "bootID"), boot) ? json_getz(tree, "gpus") : NULL;
	*ret = ARENA_ARRAY(a, struct gpu_source, json_count(gpus) + 1);
	*count = 0;
	JSON_FOREACH (it, gpus) {
		if (!json_text_at(it, "uuid").n)
			return error_set(err, ERR_INVALID, "a GPU has no uuid");
		parse_source(a, it, &(*ret)[(*count)++]);
	}
	return 0;
}
