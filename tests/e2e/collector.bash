# A real OpenTelemetry Collector that prints what it receives, for tests that began with the
# prelude:   . "$here/collector.bash"

collector_cache=${XDG_CACHE_HOME:-$HOME/.cache}/ebprof # before a test has another one

# Sets $collector: what make otel-collector built, or else one that is built once, from packages of
# Debian unstable, of which none has it as a program. Where that cannot be, the test is skipped.
need_collector() {
	collector=$WORKLOADS/../otelcol
	[[ ! -x $collector ]] || return 0
	collector=$collector_cache/otelcol
	mkdir -p "$collector_cache" 2>/dev/null || skip "no room for a collector"
	(
		flock 9
		[[ ! -x $collector ]] || exit 0
		timeout 1200 "$here/../oracle/otel_collector.sh" "$collector" "$collector.build" && exit
		rm -rf "$collector.build"
		exit 1
	) 9>"$collector.lock" >build.log 2>&1 || skip "a collector cannot be built: $(tail -n 1 build.log)"
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
