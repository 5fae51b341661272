/*
 * Keys only change the view. The next drawing corrects rows that do not exist, and notes which pool
 * or device is selected.
 */
#include "cli/live/browse.h"

#include "cli/output/terminal.h"

enum { DELETE = 0x7f, CTRL_U = 0x15 };

void top_edit_filter(struct top_view *view, int key)
{
	size_t n = strlen(view->filter);

	if (key == '\r' || key == '\n' || key == TERMINAL_ESCAPE)
		view->editing = false;
	else if (key == CTRL_U)
		view->filter[0] = '\0';
	else if ((key == DELETE || key == '\b') && n > 0)
		view->filter[n - 1] = '\0';
	else if (key >= ' ' && key < DELETE && n + 1 < sizeof(view->filter)) {
		view->filter[n] = (char)key;
		view->filter[n + 1] = '\0';
	}
}

/* --- moving ---------------------------------------------------------------------------------- */

static void up(struct top_view *v, size_t rows)
{
	v->selected -= MIN(v->selected, rows);
}

static bool move(struct top_view *v, int key)
{
	size_t page = top_page(v);

	if (key == 'j' || key == TERMINAL_DOWN)
		v->selected++;
	else if (key == 'k' || key == TERMINAL_UP)
		up(v, 1);
	else if (key == ' ' || key == TERMINAL_PAGE_DOWN) {
		v->selected += page;
		v->scroll += page;
	} else if (key == TERMINAL_PAGE_UP) {
		up(v, page);
		v->scroll -= MIN(v->scroll, page);
	} else if (key == 'g' || key == TERMINAL_HOME)
		v->selected = v->scroll = 0;
	else if (key == 'G' || key == TERMINAL_END)
		v->selected = SIZE_MAX / 4;
	else
		return false;
	v->follow = false;
	return true;
}

/* --- opening --------------------------------------------------------------------------------- */

static bool enter(struct top_view *v)
{
	bool device = v->at.device[0] != '\0';

	if (v->depth == TOP_ONE_DEVICE || !v->at.pool[0] || (v->depth == TOP_ONE_POOL && !device))
		return false;
	v->depth = device ? TOP_ONE_DEVICE : TOP_ONE_POOL;
	v->open = v->at;
	v->scroll = 0;
	if (!device) { /* its first device */
		v->selected = 1;
		v->follow = false;
	}
	return true;
}

/* Back to the row from which it was opened. */
static bool leave(struct top_view *v)
{
	if (v->depth == TOP_ALL)
		return false;
	v->at = v->open;
	v->follow = true;
	v->open.device[0] = '\0';
	v->depth--;
	return true;
}

/* --- all keys -------------------------------------------------------------------------------- */

static bool change(struct top_view *v, int key)
{
	if (key == 'd')
		v->devices = !v->devices;
	else if (key == 'u')
		v->unhealthy = !v->unhealthy;
	else if (key == '/')
		v->editing = true;
	else if (key == 's')
		v->sort = (enum top_sort)((v->sort + 1) % TOP_SORTS);
	else
		return false;
	return true;
}

bool top_key(struct top_view *v, int key)
{
	if (v->editing && (key < TERMINAL_UP || key == TERMINAL_ESCAPE)) {
		top_edit_filter(v, key);
		return true;
	}
	if (key == '\r' || key == '\n')
		return enter(v);
	if (key == TERMINAL_ESCAPE || key == DELETE || key == '\b')
		return leave(v);
	if (v->depth == TOP_ONE_DEVICE)
		return false;
	return move(v, key) || change(v, key);
}
