# A real OpenTelemetry Collector that prints what it receives, for tests that began with the
# prelude:   . "$here/collector.bash"

collector_cache=${XDG_CACHE_HOME:-$HOME/.cache}/ebprof # before a test has another one

# Sets $collector: what make otel-collector built here or, for all checkouts, in the cache. Neither
# is built by a test: that takes minutes and 0.35 GB of packages of Debian unstable, of which none has
# it as a program.
need_collector() {
	for collector in "$WORKLOADS/../otelcol" "$collector_cache/otelcol"; do
		[[ ! -x $collector ]] || return 0
	done
	skip "no collector: make otel-collector builds one (0.35 GB)"
}

# Sets $port; what it prints goes to the file collected.
start_collector() { # PROGRAM
	port=$((20000 + RANDOM % 20000))
	cat >collector.yaml <<-END
		receivers:
		  otlp:
		    protocols:
		      http:
		        endpoint: 127.0.0.1:$port
		exporters:
		  debug:
		    verbosity: detailed
		service:
		  telemetry:
		    metrics:
		      level: none
		  pipelines:
		    profiles:
		      receivers: [otlp]
		      exporters: [debug]
	END
	"$1" --config file:collector.yaml --feature-gates=service.profilesSupport >collected 2>&1 &
	is_soon grep -q 'Everything is ready' collected || fail "the collector does not run: $(tail -n 1 collected)"
}

has_collected() { # SAMPLES
	[[ $(grep -oE '^ *Values: \[[0-9]+\]' collected | tr -dc '0-9\n' | awk '{ sum += $1 } END { print sum + 0 }') == "$1" ]]
}

# What it understood sums up to the samples of the recording.
want_collected() { # FILE
	is_soon has_collected "$(field "$1" samples)" || fail "the collector has not $(field "$1" samples) samples"
}
