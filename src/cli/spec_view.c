/* Looks the entries of a spec up on this machine, and prints them for a reader. */
#include "cli/spec_view.h"

#include "base/str.h"
#include "plan/facts.h"
#include "spec/keys.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool refused(struct err *err, const char *path, const char *what, const char *hint)
{
	char shown[300];

	str_printable(path, shown, sizeof(shown));
	err_set(err, ERR_SPEC, 0, "the folder to write, %s, %s", shown, what);
	return err_hint(err, "%s %s", hint, shown);
}

static bool holds_link_folder(const struct machine *machine, const char *path)
{
	for (size_t i = 0; i < machine->link_folders.n; i++) {
		if (path_within(machine->link_folders.v[i].real, path)) {
			return true;
		}
	}
	return false;
}

static bool look_up_path(const struct spec_view *view, enum spec_key key,
			 const struct spec_item *item, struct view_entry *e, struct err *err)
{
	struct path_info at;

	e->value = item->path;
	if (!view->looked_up) {
		return true;
	}
	if (!machine_resolve(view->machine, item->path, view->arena, &at, err)) {
		err->code = ERR_SPEC;
		return false;
	}
	if (key == SPEC_FILES_WRITE && !at.exists) {
		return refused(err, item->path, "does not exist", "make it: mkdir -p");
	}
	if (key == SPEC_FILES_WRITE && access(at.real, W_OK) < 0) {
		return refused(err, item->path, "is not writable for you",
			       "let yourself write it: chmod u+w");
	}
	if (key == SPEC_FILES_WRITE && !S_ISDIR(at.mode) && !S_ISREG(at.mode) &&
	    !S_ISCHR(at.mode)) {
		return refused(err, item->path, "is neither a folder nor a file", "leave out");
	}
	e->real = at.exists ? at.real : NULL;
	e->missing = !at.exists;
	e->is_file = at.exists && !S_ISDIR(at.mode);
	if (key == SPEC_FILES_READ && !at.exists) {
		e->note = "not there: grants nothing";
	} else if (key == SPEC_FILES_READ && holds_link_folder(view->machine, at.real)) {
		e->note = "but Link's own folders in it";
	} else if (key == SPEC_FILES_HIDE && !at.exists) {
		e->note = "not there: stays closed, should it be made";
	} else if (key == SPEC_FILES_WRITE && e->is_file) {
		e->note = "a single file: a program cannot save by renaming a new one over it";
	}
	return true;
}

static void look_up_command(const struct spec_view *view, const struct spec_item *item,
			    struct view_entry *e)
{
	struct program_fact p = {.item = item};
	struct err ignored;

	e->value = item->path == NULL ? item->text
		   : item->folder && !str_eq(item->path, "/")
			   ? arena_printf(view->arena, "%s/", item->path)
			   : item->path;
	if (!view->looked_up || str_eq(item->text, "*")) {
		e->note = str_eq(item->text, "*") ? "any program" : NULL;
		return;
	}
	if (item->folder) {
		struct path_info at;
		bool there = resolve_path(item->path, view->arena, &at, &ignored) && at.exists &&
			     S_ISDIR(at.mode);

		e->missing = !there;
		e->real = there ? at.real : NULL;
		e->note = there ? "all programs below it" : "no such folder: grants nothing";
		return;
	}
	program_look_up(item->path != NULL ? item->path : item->text, view->machine, view->arena,
			&p);
	e->missing = !p.found;
	if (p.found) {
		e->real = p.at.real;
		if (item->path == NULL) {
			e->value = item->text;
		}
	} else if (item->path == NULL) {
		e->note = "not on your PATH: grants nothing";
	} else if (p.at.exists && S_ISDIR(p.at.mode)) {
		e->note = "a folder: end it with / to allow the programs in it";
	} else {
		e->note = p.at.exists ? "not a program that you may run: grants nothing"
				      : "not there: grants nothing";
	}
}

static const char *host_port(const struct spec_item *item, struct arena *arena)
{
	bool v6 = strchr(item->path, ':') != NULL;

	return arena_printf(arena, "%s%s%s:%" PRId64, v6 ? "[" : "", item->path, v6 ? "]" : "",
			    item->number);
}

bool view_look_up(const struct spec_view *view, enum spec_key key, const struct spec_item *item,
		  struct view_entry *ret_entry, struct err *err)
{
	struct view_entry e = {.value = NULL};
	bool star = item->text != NULL && str_eq(item->text, "*");

	switch (spec_keys[key].type) {
	case SPEC_TYPE_PATHS:
		if (!look_up_path(view, key, item, &e, err)) {
			return false;
		}
		break;
	case SPEC_TYPE_COMMANDS:
		look_up_command(view, item, &e);
		break;
	case SPEC_TYPE_HOST_PORTS:
		e.value = host_port(item, view->arena);
		break;
	case SPEC_TYPE_HOSTS:
	case SPEC_TYPE_LAN_HOSTS:
		e.value = item->path;
		if (star) {
			e.note = key == SPEC_INTERNET_HOSTS ? "any public host"
				 : key == SPEC_LAN_HOSTS    ? "every private address"
							    : "any host";
		}
		break;
	case SPEC_TYPE_NUMBER:
	case SPEC_TYPE_PORTS:
		e.value = arena_printf(view->arena, "%" PRId64, item->number);
		break;
	case SPEC_TYPE_BOOL:
		e.value = item->number != 0 ? "true" : "false";
		if (key == SPEC_COMMANDS_DEVELOPER_TOOLS && view->spec->os != SPEC_OS_MACOS) {
			e.note = "no effect on linux";
		}
		break;
	case SPEC_TYPE_TEXT:
	case SPEC_TYPE_MODE:
	case SPEC_TYPE_TOOLS:
	default:
		e.value = item->text;
		break;
	}
	*ret_entry = e;
	return true;
}

static bool host_network(const struct spec *spec)
{
	const struct spec_value *mode = &spec->value[SPEC_NETWORK_MODE];

	return mode->n > 0 && str_eq(mode->v[0].text, "host");
}

static const char *closed_note(const struct spec *spec, enum spec_section section)
{
	switch (section) {
	case SPEC_SECTION_FILES:
		return "none of your files";
	case SPEC_SECTION_NETWORK:
		return "left out, so \"proxy\": only what the sections below open";
	case SPEC_SECTION_INTERNET:
		return "no public host";
	case SPEC_SECTION_LAN:
		return "no other machine of your network";
	case SPEC_SECTION_LOCALHOST:
		return "no server on this machine";
	case SPEC_SECTION_TOOLS:
		return "none of your tools";
	case SPEC_SECTION_BROWSER:
		return "no page";
	case SPEC_SECTION_COMMANDS:
		return spec->file == NULL ? "left out without a file: any program runs"
					  : "no program runs";
	case SPEC_SECTION_ROOT:
	case SPEC_SECTION_COUNT:
	default:
		return NULL;
	}
}

const char *view_section_note(const struct spec_view *view, enum spec_section section)
{
	bool network = section == SPEC_SECTION_INTERNET || section == SPEC_SECTION_LAN ||
		       section == SPEC_SECTION_LOCALHOST;

	if (host_network(view->spec) && network) {
		return view->spec->section_set[section]
			       ? "no effect: [network] mode = \"host\" filters nothing"
			       : "not closed: [network] mode = \"host\" filters nothing";
	}
	return view->spec->section_set[section] ? NULL : closed_note(view->spec, section);
}

/* --- for a reader ------------------------------------------------------------------------- */

static void print_origin(const struct origin *from, FILE *out)
{
	if (from->flag != NULL) {
		fprintf(out, "%s", from->flag);
	} else {
		fprintf(out, "line %u", from->line);
	}
}

static void print_entry(const struct spec_view *view, enum spec_key key,
			const struct spec_item *item, FILE *out)
{
	struct view_entry e;
	struct err ignored;
	char clean[8192];

	if (!view_look_up(view, key, item, &e, &ignored)) {
		return;
	}
	fprintf(out, "%s%-*s %s", spec_keys[key].section == SPEC_SECTION_ROOT ? "" : "  ",
		spec_keys[key].section == SPEC_SECTION_ROOT ? 17 : 15, spec_keys[key].name,
		str_printable(e.value, clean, sizeof(clean)));
	if (e.real != NULL && !str_eq(e.real, e.value) &&
	    !(item->folder && item->path != NULL && str_eq(e.real, item->path))) {
		fprintf(out, " -> %s", str_printable(e.real, clean, sizeof(clean)));
	}
	fputs("  (", out);
	print_origin(&item->from, out);
	fprintf(out, "%s%s)\n", e.note != NULL ? "; " : "", e.note != NULL ? e.note : "");
}

static void print_keys(const struct spec_view *view, enum spec_section section, FILE *out)
{
	for (enum spec_key k = 0; k < SPEC_KEY_COUNT; k++) {
		const struct spec_value *value = &view->spec->value[k];

		for (size_t i = 0; spec_keys[k].section == section && i < value->n; i++) {
			print_entry(view, k, &value->v[i], out);
		}
	}
}

static void print_section(const struct spec_view *view, enum spec_section section, FILE *out)
{
	const char *note = view_section_note(view, section);
	const struct origin *from = &view->spec->section[section];
	bool there = from->line > 0 || from->flag != NULL;

	fprintf(out, "[%s]", spec_sections[section].name);
	if (view->spec->section_set[section]) {
		fprintf(out, "%s%s\n", note != NULL ? " " : "", note != NULL ? note : "");
		print_keys(view, section, out);
		return;
	}
	fprintf(out, " %s%s",
		section == SPEC_SECTION_NETWORK || strncmp(note, "left", 4) == 0 ||
				strncmp(note, "not ", 4) == 0
			? ""
			: "closed: ",
		note);
	if (there) {
		fprintf(out, " (line %u is for %s only)", from->line,
			keys_os[view->spec->os == SPEC_OS_LINUX ? SPEC_OS_MACOS : SPEC_OS_LINUX]);
	}
	fputc('\n', out);
}

void view_print(const struct spec_view *view, FILE *out)
{
	const struct spec *spec = view->spec;
	const char *os = keys_os[spec->os];

	fprintf(out, "%s: good. ", spec->file != NULL ? spec->file : "flags");
	if (view->looked_up) {
		fprintf(out, "On this machine (%s) it grants:\n\n", os);
	} else {
		fprintf(out,
			"On %s, which this machine is not, it grants (nothing is looked up):\n\n",
			os);
	}
	if (spec->value[SPEC_NAME].n + spec->value[SPEC_VERSION].n > 0) {
		print_keys(view, SPEC_SECTION_ROOT, out);
		fputc('\n', out);
	}
	for (enum spec_section s = SPEC_SECTION_ROOT + 1; s < SPEC_SECTION_COUNT; s++) {
		print_section(view, s, out);
	}
}
