# SPDX-License-Identifier: Apache-2.0
# threads.rb - Ruby: queues, a mutex, Timeout, a server with one thread per client, a subprocess
require "socket"
require "timeout"

work, done = Queue.new, Queue.new
workers = 50.times.map do
  Thread.new { while (x = work.pop) != :end do done << x * 2 end }
end
2000.times { |i| work << i }
50.times { work << :end }
workers.each(&:join)
sum = 0
sum += done.pop until done.empty?
puts sum

mutex, count = Mutex.new, 0
20.times.map { Thread.new { 1000.times { mutex.synchronize { count += 1 } } } }.each(&:join)
puts count

begin
  Timeout.timeout(0.2) { sleep }
rescue Timeout::Error
  puts "timeout"
end

server = TCPServer.new("127.0.0.1", 0)
Thread.new { loop { c = server.accept; Thread.new { c.puts c.gets; c.close } } }
said = 100.times.map do |i|
  Thread.new { s = TCPSocket.new("127.0.0.1", server.addr[1]); s.puts "h#{i}"; s.gets.chomp }
end.map(&:value)
puts said.join(" ")

puts 20.times.map { Thread.new { sleep 0.01; 5.times.map { `echo sub`.chomp } } }.map(&:value).join
sleeper = Thread.new { sleep }
sleeper.kill
sleeper.join
puts "end"
