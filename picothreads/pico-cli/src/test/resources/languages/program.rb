# SPDX-License-Identifier: Apache-2.0
# Whatever of Ruby waits, locks, or reaches native files and sockets (LanguagesTest).
puts "start #{RUBY_VERSION}"
q = Queue.new
t = Thread.new { 5.times { |i| q << i; sleep 0.01 }; q << nil }
s = 0
while (x = q.pop); s += x; end
t.join
puts "sum #{s} #{t.alive?} #{t.status.inspect}"
m = Mutex.new; n = 0
10.times.map { Thread.new { 20.times { m.synchronize { y = n; Thread.pass; n = y + 1 } } } }.each(&:join)
puts "mutex #{n}"
f = Fiber.new { 3.times { |i| Fiber.yield i }; :done }
puts "fiber #{4.times.map { f.resume }.inspect}"
cv = ConditionVariable.new; ready = false
w = Thread.new { m.synchronize { cv.wait(m) until ready; puts "woken" } }
m.synchronize { ready = true; cv.signal }
w.join
r, wr = IO.pipe
Thread.new { wr.puts "through a pipe"; wr.close }
puts r.read
puts `echo out`.chomp
require 'socket'
srv = TCPServer.new('127.0.0.1', 0)
Thread.new { c = srv.accept; c.puts c.gets.reverse; c.close }
c = TCPSocket.new('127.0.0.1', srv.addr[1]); c.puts "abc"; puts c.read.strip
e = [1, 2, 3].each
puts "enum #{e.next} #{e.next} #{e.next}"
begin; Thread.new { Thread.current.report_on_exception = false; raise "bad" }.join; rescue => ex; puts "raised #{ex.message}"; end
require 'timeout'
begin; Timeout.timeout(0.05) { sleep 10 }; rescue Timeout::Error; puts "timeout"; end
t = Thread.new { sleep }; Thread.pass until t.stop?; t.kill; t.join; puts "killed #{t.alive?}"
puts "end"
