#!/usr/bin/env python3
"""Reads OTLP profiles by the definition alone, as `protoc --decode` prints them, and checks what
the comments of profiles.proto (opentelemetry-proto 1.11.0) demand.

read_otlp.py FILE: FILE is protoc's output. Prints "SERVICE TYPE/UNIT VALUE leaf;...;root" a sample.
"""
import re
import sys


def parse(lines):
    """A message as a list of (field, value), value a string or such a list."""
    fields = []
    for line in lines:
        line = line.strip()
        if line == "}":
            return fields
        if line.endswith(" {"):
            fields.append((line[:-2], parse(lines)))
        else:
            name, value = line.split(": ", 1)
            fields.append((name, value))
        assert not re.match(r"\d+$", fields[-1][0]), "a field that has no name: " + line
    return fields


def each(message, name):
    return [value for field, value in message if field == name]


def one(message, name, default):
    found = each(message, name)
    assert len(found) <= 1, name
    return found[0] if found else default


def number(message, name):
    return int(one(message, name, "0"))


def text(message, name):
    return one(message, name, '""')[1:-1]


request = parse(iter(open(sys.argv[1])))
dictionary = one(request, "dictionary", None)
tables = {name: each(dictionary, name + "_table") for name in
          ("mapping", "location", "function", "link", "string", "attribute", "stack")}
tables["string"] = [string[1:-1] for string in tables["string"]]
for name, table in tables.items():
    assert table, name + "_table is empty"
    zero = table[0]
    if name == "link":
        assert all(set(value) <= set('"\\0') for _, value in zero), "link_table[0]"
    else:
        assert not zero, name + "_table[0] says something"
    values = [str(entry) for entry in table]
    assert len(set(values)) == len(values), name + "_table has an entry twice"


def string(index):
    return tables["string"][index]


def attributes(message):
    keys = []
    for index in each(message, "attribute_indices"):
        assert int(index) > 0, "an attribute that is none"
        keys.append(string(number(tables["attribute"][int(index)], "key_strindex")))
    assert len(set(keys)) == len(keys), "an attribute twice"
    return keys


def value_type(message):
    return string(number(message, "type_strindex")) + "/" + string(number(message, "unit_strindex"))


def frames(stack):
    for index in each(tables["stack"][stack], "location_indices"):
        location = tables["location"][int(index)]
        attributes(location)
        mapping = tables["mapping"][number(location, "mapping_index")]
        if mapping:
            attributes(mapping)
            assert number(mapping, "memory_start") <= number(location, "address") \
                <= number(mapping, "memory_limit"), "an address outside of its mapping"
        for line in each(location, "lines"):
            assert number(line, "function_index") > 0
            yield string(number(tables["function"][number(line, "function_index")], "name_strindex"))


for resource_profiles in each(request, "resource_profiles"):
    resource = one(resource_profiles, "resource", [])
    pairs = {text(pair, "key"): text(one(pair, "value", []), "string_value")
             for pair in each(resource, "attributes")}
    for scope_profiles in each(resource_profiles, "scope_profiles"):
        for profile in each(scope_profiles, "profiles"):
            assert number(profile, "time_unix_nano") > 1577836800 * 10**9
            assert number(profile, "period") > 0
            value_type(one(profile, "period_type", None))
            attributes(profile)
            kind = value_type(one(profile, "sample_type", None))
            seen = set()
            for sample in each(profile, "samples"):
                assert len(each(sample, "values")) == 1
                attributes(sample)
                identity = (number(sample, "stack_index"), str(each(sample, "attribute_indices")))
                assert identity[0] > 0 and identity not in seen, "two samples of one identity"
                seen.add(identity)
                print(pairs["service.name"], kind, number(sample, "values"),
                      ";".join(frames(identity[0])))
