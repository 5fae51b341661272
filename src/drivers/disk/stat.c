/*
 * One tokenizer serves all three files. The kernel's counters fit in 64 bits; a line with a larger
 * number is skipped.
 */
#include "drivers/disk/stat.h"

/* --- words ----------------------------------------------------------------------------------- */

static bool next_word(struct str *line, struct str *ret_word)
{
	size_t at = 0, end;

	while (at < line->n && (line->p[at] == ' ' || line->p[at] == '\t'))
		at++;
	for (end = at; end < line->n && line->p[end] != ' ' && line->p[end] != '\t';)
		end++;
	*ret_word = str_of(line->p + at, end - at);
	*line = str_skip(*line, end);
	return ret_word->n > 0;
}

static bool to_u32(struct str s, uint32_t *ret_value)
{
	uint64_t v;

	if (!str_to_u64(s, &v) || v > UINT32_MAX)
		return false;
	*ret_value = (uint32_t)v;
	return true;
}

/* "8:0" */
static bool to_device(struct str s, uint32_t *ret_major, uint32_t *ret_minor)
{
	struct str major;

	return str_split(&s, ':', &major) && to_u32(major, ret_major) && to_u32(s, ret_minor);
}

/* --- diskstats ------------------------------------------------------------------------------- */

bool disk_name_is_fit(struct str name)
{
	if (name.n == 0 || name.n >= DISK_NAME_SIZE || name.p[0] == '.')
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] <= ' ' || name.p[i] > '~' || name.p[i] == '/')
			return false;
	return true;
}

static bool set_name(struct disk_stat *s, struct str name)
{
	if (name.n == 0 || name.n >= sizeof(s->name))
		return false;
	str_put(s->name, name);
	s->name[name.n] = 0;
	for (char *c = s->name; (c = strchr(c, '/'));)
		*c = '!';
	return disk_name_is_fit(str_of(s->name, name.n));
}

/* The columns after the name; all kernels have the first eleven. */
static bool read_counters(struct str line, struct disk_stat *s)
{
	uint64_t *const columns[] = {
		&s->reads,           &s->reads_merged,    &s->read_sectors,  &s->read_ms,
		&s->writes,          &s->writes_merged,   &s->write_sectors, &s->write_ms,
		&s->in_flight,       &s->busy_ms,         &s->weighted_ms,   &s->discards,
		&s->discards_merged, &s->discard_sectors, &s->discard_ms,    &s->flushes,
		&s->flush_ms,
	};
	enum { ALWAYS = 11 };
	struct str word;
	size_t n = 0;

	while (n < ARRAY_SIZE(columns) && next_word(&line, &word)) {
		if (!str_to_u64(word, columns[n]))
			return false;
		n++;
	}
	return n >= ALWAYS;
}

bool disk_stat_next(struct str *text, struct disk_stat *ret_stat)
{
	struct str line, major, minor, name;

	while (str_split(text, '\n', &line)) {
		struct disk_stat s = { 0 };

		if (next_word(&line, &major) && next_word(&line, &minor) &&
		    next_word(&line, &name) && to_u32(major, &s.major) && to_u32(minor, &s.minor) &&
		    set_name(&s, name) && read_counters(line, &s)) {
			*ret_stat = s;
			return true;
		}
	}
	return false;
}

/* --- control groups -------------------------------------------------------------------------- */

/* "rbytes=4096". Unknown keys are ignored, an invalid number is an error. */
static bool read_pair(struct str word, struct disk_group_stat *s, bool *known)
{
	struct str key;

	if (!str_split(&word, '=', &key) || !word.p)
		return true;
	if (str_eq(key, STR("rbytes"))) {
		*known = true;
		return str_to_u64(word, &s->read_bytes);
	}
	if (str_eq(key, STR("wbytes"))) {
		*known = true;
		return str_to_u64(word, &s->write_bytes);
	}
	return true;
}

static bool read_v2_line(struct str line, struct disk_group_stat *s)
{
	bool known = false;
	struct str word;

	if (!next_word(&line, &word) || !to_device(word, &s->major, &s->minor))
		return false;
	while (next_word(&line, &word))
		if (!read_pair(word, s, &known))
			return false;
	return known;
}

bool disk_group_v2_next(struct str *text, struct disk_group_stat *ret_stat)
{
	struct str line;

	while (str_split(text, '\n', &line)) {
		struct disk_group_stat s = { 0 };

		if (read_v2_line(line, &s)) {
			*ret_stat = s;
			return true;
		}
	}
	return false;
}

/*
 * "8:0 Read 4096". Sync, Async, Discard and Total are ignored: they repeat bytes, or count others.
 */
static bool read_v1_line(struct str line, struct disk_group_stat *s)
{
	struct str device, kind, value;

	if (!next_word(&line, &device) || !next_word(&line, &kind) || !next_word(&line, &value) ||
	    !to_device(device, &s->major, &s->minor))
		return false;
	if (str_eq(kind, STR("Read")))
		return str_to_u64(value, &s->read_bytes);
	return str_eq(kind, STR("Write")) && str_to_u64(value, &s->write_bytes);
}

bool disk_group_v1_next(struct str *text, struct disk_group_stat *ret_stat)
{
	struct str line;

	while (str_split(text, '\n', &line)) {
		struct disk_group_stat s = { 0 };

		if (read_v1_line(line, &s)) {
			*ret_stat = s;
			return true;
		}
	}
	return false;
}

/* --- names of groups ------------------------------------------------------------------------- */

bool disk_group_is_pods(struct str folder)
{
	return str_find(folder, STR("kubepods")) >= 0;
}

static bool is_uid_byte(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '-';
}

bool disk_group_pod(struct str folder, char ret_uid[static DISK_UID_SIZE])
{
	bool systemd = str_ends(folder, STR(".slice"));
	char uid[DISK_UID_SIZE];
	ptrdiff_t at = 0;

	if (systemd) {
		folder.n -= STR(".slice").n;
		at = str_find(folder, STR("-pod"));
		if (at < 0 || !disk_group_is_pods(folder))
			return false;
		at++;
	}
	folder = str_skip(folder, (size_t)at);
	if (!str_starts(folder, STR("pod")))
		return false;
	folder = str_skip(folder, STR("pod").n);
	if (folder.n == 0 || folder.n >= sizeof(uid))
		return false;
	for (size_t i = 0; i < folder.n; i++) {
		uid[i] = systemd && folder.p[i] == '_' ? '-' : folder.p[i];
		if (!is_uid_byte(uid[i]))
			return false;
	}
	uid[folder.n] = 0;
	memcpy(ret_uid, uid, folder.n + 1);
	return true;
}
