# Other people's programs from npm, for suites that need some:   . "$here/npm.bash"
# $npm_folder/node_modules has them.

npm_folder=${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/npm

# Packages of other people's consumers, once for all tests and runs.
need_npm() { # NAME@VERSION...
	local package missing=()
	for package in "$@"; do
		[[ -e $npm_folder/.$(tr / _ <<<"$package") ]] || missing+=("$package")
	done
	((${#missing[@]})) || return 0
	command -v npm >/dev/null || skip "npm is not installed"
	mkdir -p "$npm_folder" || skip "there is no room for npm's packages"
	(
		flock 9
		cd "$npm_folder" || exit 1
		[[ -f package.json ]] || echo '{"private": true}' >package.json
		timeout 300 npm install --no-audit --no-fund --ignore-scripts "${missing[@]}" >&2 || exit 1
		for package in "${missing[@]}"; do
			touch ".$(tr / _ <<<"$package")"
		done
	) 9>"$npm_folder.lock" || skip "npm cannot install ${missing[*]}: $(tail -n 1 npm.log 2>/dev/null)"
}
