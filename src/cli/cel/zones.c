/*
 * A name is a path below the database's folder. It comes from an expression, so it must not leave
 * that folder: no part of it may begin with a dot. It must not fill memory either: unsafe names
 * are not cached, and at most ZONES_MAX others are.
 */
#include "cli/cel/zones.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "base/time/zone.h"
#include "cli/cli_limits.h"

struct zone_file {
	char *name;
	struct buf bytes; /* the data that `zone` points into */
	struct zone zone;
	bool usable;
};

void zones_init(struct zones *z)
{
	map_init(&z->known);
}

static void zone_file_free(struct zone_file *f)
{
	buf_release(&f->bytes);
	free(f->name);
	free(f);
}

void zones_release(struct zones *z)
{
	size_t at = 0;
	struct str name;
	void *file;

	while (map_next(&z->known, &at, &name, &file))
		zone_file_free(file);
	map_release(&z->known);
}

static bool name_is_safe(struct str name)
{
	struct str rest = name, part;

	if (!name.n || name.n > ZONE_NAME_MAX || memchr(name.p, '\0', name.n))
		return false;
	while (str_split(&rest, '/', &part))
		if (!part.n || part.p[0] == '.')
			return false;
	return true;
}

static void load(struct zone_file *f, struct str name)
{
	const char *folder = getenv("ZONEINFO");
	char path[ZONE_NAME_MAX + 256];
	int n;

	n = snprintf(path, sizeof(path), "%s/%.*s",
		     folder && *folder ? folder : "/usr/share/zoneinfo", STR_ARG(name));
	f->usable = n > 0 && (size_t)n < sizeof(path) && file_read(path, &f->bytes, NULL) == 0 &&
		    zone_parse(buf_str(&f->bytes), &f->zone, NULL) == 0;
}

/* NULL: the name is unsafe, or the cache is full. */
static struct zone_file *zones_find(struct zones *z, struct str name)
{
	struct zone_file *f;

	if (!name_is_safe(name))
		return NULL;
	f = map_get(&z->known, name);
	if (f || z->known.n >= ZONES_MAX)
		return f;
	f = xcalloc(1, sizeof(*f));
	f->name = str_dup(name);
	buf_init(&f->bytes, ZONE_FILE_MAX);
	load(f, name);
	(void)map_put(&z->known, str_of(f->name, name.n), f);
	return f;
}

bool zones_offset(void *zones, struct str name, int64_t seconds, int32_t *ret_offset)
{
	const struct zone_file *f = zones_find(zones, name);

	if (!f || !f->usable)
		return false;
	*ret_offset = zone_offset(&f->zone, seconds);
	return true;
}
