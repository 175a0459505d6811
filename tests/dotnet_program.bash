# The program of tests/e2e/dotnet_shape.cs for a version of .NET that is not installed: NuGet has the
# runtime, which becomes part of the program. To be sourced.
#   DOTNET_SOURCE   another program, which is called shape, too
#   DOTNET_RUNTIME  linux-x64, or another one of NuGet's

# Makes FOLDER/out/shape once, until its source changes. What it prints says what is wrong, then the status
# is not 0.
#   dotnet_program FOLDER net8.0 8.0.34 -p:PublishSingleFile=true
dotnet_program() { # FOLDER FRAMEWORK VERSION PROPERTY...
	local folder=$1 framework=$2 version=$3 source=${DOTNET_SOURCE:-${BASH_SOURCE[0]%/*}/e2e/dotnet_shape.cs}
	shift 3
	[[ ! -x $folder/out/shape ]] || ! cmp -s "$source" "$folder/${source##*/}" || return 0
	command -v dotnet >/dev/null || { echo "no dotnet here" && return 1; }
	rm -rf "$folder.part"
	mkdir -p "$folder.part"
	cp "$source" "$folder.part" || return
	cat >"$folder.part/shape.csproj" <<-XML
		<Project Sdk="Microsoft.NET.Sdk">
		  <PropertyGroup>
		    <OutputType>Exe</OutputType>
		    <TargetFramework>$framework</TargetFramework>
		    <RuntimeFrameworkVersion>$version</RuntimeFrameworkVersion>
		    <RuntimeIdentifier>${DOTNET_RUNTIME:-linux-x64}</RuntimeIdentifier>
		    <AllowUnsafeBlocks>true</AllowUnsafeBlocks>
		    <InvariantGlobalization>true</InvariantGlobalization>
		    <AssemblyName>shape</AssemblyName>
		    <NoWarn>CS0649;NETSDK1138;IL3050;IL2075</NoWarn>
		  </PropertyGroup>
		</Project>
	XML
	(
		cd "$folder.part" || exit
		export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1
		timeout 280 dotnet publish -c Release -p:SelfContained=true -o out -nodeReuse:false -p:UseSharedCompilation=false \
			"$@" </dev/null
	) >"$folder.log" 2>&1 || { grep -m 1 -oE 'error .*' "$folder.log" || echo "dotnet publish was not done in time"; return 1; }
	rm -rf "$folder.part/obj" "$folder.part/bin" "$folder"
	mv "$folder.part" "$folder"
}
