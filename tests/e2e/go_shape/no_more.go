package main

func more() {}
