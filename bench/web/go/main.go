// SPDX-License-Identifier: Apache-2.0

// The web peer on Go's net/http: go-web PORT ROOT. /small is answered from memory, any
// other path is a file of ROOT. GOMAXPROCS chooses the processors.
package main

import (
	"log"
	"net/http"
	"os"
)

func main() {
	small := []byte("hello, world\n")
	mux := http.NewServeMux()
	mux.HandleFunc("/small", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Write(small)
	})
	mux.Handle("/", http.FileServer(http.Dir(os.Args[2])))
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], mux))
}
