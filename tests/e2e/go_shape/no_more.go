// +build few

package main

func more() {}
