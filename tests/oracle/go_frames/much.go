//go:build !few

package main

// Much code of many kinds, where it need not be compiled for the occasion.
import (
	_ "crypto/tls"
	_ "encoding/json"
	_ "encoding/xml"
	_ "go/types"
	_ "html/template"
	_ "image/png"
	_ "net/http"
	_ "text/template"
)
