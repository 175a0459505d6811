# A real OpenTelemetry Collector that prints what it receives, for tests that began with the
# prelude:   . "$here/collector.bash"

# Sets $port; what it prints goes to the file collected.
start_collector() { # PROGRAM
	local i
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
	for ((i = 0; i < 300; i++)); do
		grep -q 'Everything is ready' collected && return
		sleep 0.1
	done
	fail "the collector does not run: $(tail -n 1 collected)"
}

# What it understood sums up to the samples of the recording.
want_collected() { # FILE
	local i values=0 samples
	samples=$(field "$1" samples)
	for ((i = 0; i < 50; i++)); do
		values=$(grep -oE '^ *Values: \[[0-9]+\]' collected | tr -dc '0-9\n' | awk '{ sum += $1 } END { print sum + 0 }')
		[[ $values == "$samples" ]] && return
		sleep 0.1
	done
	fail "the collector has $values samples, not $samples"
}
