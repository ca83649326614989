# shellcheck shell=bash
# Sourced by the scripts beside it: where the project is, who we are, what to say.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export root
# The system's programs before version managers' shims; sbin for useradd and runuser.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export LC_ALL=C.UTF-8

say() { printf '\n== %s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }
is_root() { [ "$(id -u)" = 0 ]; }

# Runs a command as root: directly, or through sudo.
as_root() {
	if is_root; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "needs root for: $* (run it as root, or install sudo)"
	fi
}

# The user that the unprivileged tests run as: this one, or lnk-test when this one is root.
test_user() {
	if is_root; then
		echo lnk-test
	else
		id -un
	fi
}

# Makes lnk-test when it is missing. Only root needs it.
make_test_user() {
	is_root || return 0
	id lnk-test >/dev/null 2>&1 ||
		useradd --create-home --home-dir /home/lnk-test --shell /bin/bash lnk-test
}

# Runs a command as the test user with a clean environment, in the current folder.
as_test_user() {
	local user home
	user=$(test_user)
	home=$(getent passwd "$user" | cut -d: -f6)
	set -- env -i HOME="$home" USER="$user" LOGNAME="$user" SHELL=/bin/bash TERM=xterm \
		LANG=C.UTF-8 PATH=/usr/local/bin:/usr/bin:/bin:/usr/games "$@"
	if is_root; then
		runuser -u "$user" -- "$@"
	else
		"$@"
	fi
}

# Where the ordinary user works: here, or on a copy that it can read, ~/NAME. Further words are folders
# that the copy has besides, such as bench/node_modules.
stage() {
	local name=$1
	shift
	if ! is_root; then
		echo "$root"
		return
	fi
	local home copy more
	home=$(getent passwd lnk-test | cut -d: -f6)
	copy=$home/$name
	rm -rf "$copy"
	mkdir -p "$copy"
	(cd "$root" && tar -cf - --exclude=./.git --exclude='*.o' --exclude='*.a' \
		--exclude=./bench/node_modules --exclude=./build/results .) | tar -xf - -C "$copy"
	for more in "$@"; do
		mkdir -p "$copy/$more"
		(cd "$root/$more" && tar -cf - .) | tar -xf - -C "$copy/$more"
	done
	chown -R lnk-test: "$copy"
	echo "$copy"
}
